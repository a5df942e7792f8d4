// Points and lines on the graphics card: what has to move smoothly for 50,000 samples.

const POINTS_VERTEX = `#version 300 es
in vec3 position;
in vec4 color;
in float radius;
in float shape;
uniform vec4 rowX, rowY, rowZ;
uniform vec2 size;
uniform float pixels;
out vec4 fill;
flat out float isTriangle;
flat out float extent;
void main() {
  vec4 p = vec4(position, 1.0);
  vec2 at = vec2(dot(rowX, p), dot(rowY, p)) / size * 2.0 - 1.0;
  gl_Position = vec4(at.x, -at.y, dot(rowZ, p), 1.0);
  extent = 2.0 * pixels * radius * (shape > 0.5 ? 1.2 : 1.0) + 1.0;
  gl_PointSize = extent;
  fill = color;
  isTriangle = shape;
}`;

const POINTS_FRAGMENT = `#version 300 es
precision highp float;
in vec4 fill;
flat in float isTriangle;
flat in float extent;
uniform float shade;
uniform bool isSolid;
out vec4 result;
void main() {
  vec2 at = (gl_PointCoord - 0.5) * extent;
  float reach = (extent - 1.0) / 2.0;
  float inside;
  if (isTriangle > 0.5) {
    // Distance to the nearest of the three sides; the top is at -reach.
    float side = reach * 0.5 - abs(at.x) * 0.866 + at.y * 0.5;
    inside = min(side, reach * 0.5 - at.y);
  } else {
    inside = reach - length(at);
  }
  float alpha = clamp(inside + 0.5, 0.0, 1.0);
  if (alpha < (isSolid ? 0.5 : 0.01)) discard;
  // A rim of the same hue keeps pale points apart from the ground; small ones would be all rim.
  float rim = reach < 2.6 ? 1.0 : clamp(inside - max(1.0, 0.22 * reach) + 0.5, 0.0, 1.0);
  vec3 color = mix(fill.rgb * shade + (shade > 1.0 ? 0.12 : 0.0), fill.rgb, rim);
  float opacity = isSolid ? 1.0 : alpha * fill.a;
  result = vec4(color * opacity, opacity);
}`;

const LINES_VERTEX = `#version 300 es
in vec3 from;
in vec3 to;
in vec4 color;
uniform vec4 rowX, rowY, rowZ;
uniform vec2 size;
uniform float width;
out vec4 fill;
out float away;
void main() {
  vec4 a = vec4(from, 1.0);
  vec4 b = vec4(to, 1.0);
  vec2 start = vec2(dot(rowX, a), dot(rowY, a));
  vec2 end = vec2(dot(rowX, b), dot(rowY, b));
  vec2 along = end - start;
  float reach = length(along);
  along = reach > 1e-6 ? along / reach : vec2(1.0, 0.0);
  vec2 across = vec2(-along.y, along.x);
  float second = float(gl_VertexID & 1);
  float side = float(gl_VertexID >> 1) * 2.0 - 1.0;
  // Half a pixel more on either side, for the edge to fade in.
  away = side * (width + 1.0) / 2.0;
  vec2 at = mix(start, end, second) + across * away;
  at += along * (second * 2.0 - 1.0) * width / 4.0;
  at = at / size * 2.0 - 1.0;
  float depth = mix(dot(rowZ, a), dot(rowZ, b), second);
  gl_Position = vec4(at.x, -at.y, depth, 1.0);
  fill = color;
}`;

const LINES_FRAGMENT = `#version 300 es
precision highp float;
in vec4 fill;
in float away;
uniform float halfWidth;
out vec4 result;
void main() {
  float opacity = fill.a * clamp(halfWidth + 0.5 - abs(away), 0.0, 1.0);
  result = vec4(fill.rgb * opacity, opacity);
}`;

export class WebglPainter {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    // Edges are smoothed here: on a machine without a graphics card the card's own way is slow.
    const options = { antialias: false, premultipliedAlpha: true, alpha: true };
    const gl = canvas.getContext("webgl2", options);
    if (!gl) throw new Error("WebGL 2 is not available");
    this.gl = gl;
    this.canvas = canvas;
    this.points = program(gl, POINTS_VERTEX, POINTS_FRAGMENT);
    this.lines = program(gl, LINES_VERTEX, LINES_FRAGMENT);
    this.buffers = {};
    for (const name of ["position", "color", "radius", "shape", "line", "lineColor", "order"]) {
      this.buffers[name] = gl.createBuffer();
    }
    this.sizes = { points: 0, lines: 0 };
    this.pointsArray = this.layoutPoints();
    this.linesArray = this.layoutLines();
  }

  layoutPoints() {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const bind = (name, buffer, n, type, normalized) => {
      const at = gl.getAttribLocation(this.points, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[buffer]);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, n, type, normalized, 0, 0);
    };
    bind("position", "position", 3, gl.FLOAT, false);
    bind("color", "color", 4, gl.UNSIGNED_BYTE, true);
    bind("radius", "radius", 1, gl.FLOAT, false);
    bind("shape", "shape", 1, gl.UNSIGNED_BYTE, false);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.order);
    gl.bindVertexArray(null);
    return array;
  }

  layoutLines() {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const bind = (name, buffer, n, type, normalized, stride, offset) => {
      const at = gl.getAttribLocation(this.lines, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[buffer]);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, n, type, normalized, stride, offset);
      gl.vertexAttribDivisor(at, 1);
    };
    bind("from", "line", 3, gl.FLOAT, false, 24, 0);
    bind("to", "line", 3, gl.FLOAT, false, 24, 12);
    bind("color", "lineColor", 4, gl.UNSIGNED_BYTE, true, 0, 0);
    gl.bindVertexArray(null);
    return array;
  }

  /** Hand over what has changed of a scene: {position, color, radius, shape, order, line, …}. */
  upload(changed) {
    const { gl } = this;
    gl.bindVertexArray(null);
    for (const [name, array] of Object.entries(changed)) {
      const target = name === "order" ? gl.ELEMENT_ARRAY_BUFFER : gl.ARRAY_BUFFER;
      gl.bindBuffer(target, this.buffers[name]);
      gl.bufferData(target, array, gl.DYNAMIC_DRAW);
      if (name === "order") this.sizes.points = array.length;
      if (name === "line") this.sizes.lines = array.length / 6;
    }
  }

  /**
   * Draw points and lines.
   * @param {number[]} matrix of the camera, in CSS pixels
   * @param {{width: number, height: number, ratio: number, lineWidth: number, shade: number,
   *   solid: boolean, linesFirst: boolean, grow: number}} how
   */
  draw(matrix, how) {
    const { gl } = this;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (how.solid) gl.enable(gl.DEPTH_TEST);
    else gl.disable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    if (how.linesFirst) this.drawLines(matrix, how);
    this.drawPoints(matrix, how);
    if (!how.linesFirst) {
      // The graph is to be seen through a cloud of points.
      gl.disable(gl.DEPTH_TEST);
      this.drawLines(matrix, how);
    }
  }

  drawPoints(matrix, how) {
    const { gl } = this;
    gl.useProgram(this.points);
    this.setCamera(this.points, matrix, how);
    gl.uniform1f(gl.getUniformLocation(this.points, "pixels"), how.ratio * how.grow);
    gl.uniform1f(gl.getUniformLocation(this.points, "shade"), how.shade);
    gl.uniform1i(gl.getUniformLocation(this.points, "isSolid"), how.solid ? 1 : 0);
    gl.bindVertexArray(this.pointsArray);
    gl.drawElements(gl.POINTS, this.sizes.points, gl.UNSIGNED_INT, 0);
    gl.bindVertexArray(null);
  }

  drawLines(matrix, how) {
    const { gl } = this;
    if (!this.sizes.lines) return;
    gl.useProgram(this.lines);
    this.setCamera(this.lines, matrix, how);
    gl.uniform1f(gl.getUniformLocation(this.lines, "width"), how.lineWidth);
    gl.uniform1f(gl.getUniformLocation(this.lines, "halfWidth"), how.lineWidth / 2);
    gl.bindVertexArray(this.linesArray);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.sizes.lines);
    gl.bindVertexArray(null);
  }

  setCamera(used, matrix, how) {
    const { gl } = this;
    ["rowX", "rowY", "rowZ"].forEach((name, k) => {
      gl.uniform4fv(gl.getUniformLocation(used, name), matrix.slice(4 * k, 4 * k + 4));
    });
    gl.uniform2f(gl.getUniformLocation(used, "size"), how.width, how.height);
  }
}

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
      throw new Error(`WebGL: ${gl.getShaderInfoLog(shader)}`);
    }
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`WebGL: ${gl.getProgramInfoLog(made)}`);
  }
  return made;
}
