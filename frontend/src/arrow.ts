// One arrow, from the end of an event to the start of another.

interface Point {
  readonly x: number;
  readonly y: number;
}

export function arrow(context: CanvasRenderingContext2D, from: Point, to: Point, ratio: number): void {
  const bend = Math.min(Math.max(Math.abs(to.x - from.x) / 2, 8 * ratio), 50 * ratio);
  const head = 5 * ratio;
  context.lineWidth = 1.25 * ratio;
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x - head * 0.6, to.y);
  context.stroke();
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - head, to.y - head * 0.6);
  context.lineTo(to.x - head, to.y + head * 0.6);
  context.closePath();
  context.fill();
}
