// SPDX-License-Identifier: Apache-2.0

// What a pointer can take hold of and carry elsewhere.

export interface GripDeps {
  /** It was taken hold of. False when it cannot be carried now. */
  take(): boolean;
  /** It is so many CSS pixels from where it was taken. */
  carry(x: number, y: number): void;
  /** It was let go, where it was carried last. */
  drop(): void;
}

/** Movements below this many CSS pixels are a hand that is not quite still. */
const slop = 3;

export function makeGrip(element: HTMLElement, deps: GripDeps): void {
  let from: { x: number; y: number } | null = null;
  let carried = false;
  element.addEventListener('pointerdown', (event) => {
    event.preventDefault(); // it would take the focus from the terminal
    if (!deps.take()) return;
    element.setPointerCapture(event.pointerId);
    from = { x: event.clientX, y: event.clientY };
    carried = false;
  });
  element.addEventListener('pointermove', (event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    carried ||= Math.hypot(x, y) > slop;
    if (carried) deps.carry(x, y);
  });
  const drop = () => {
    if (from && carried) deps.drop();
    from = null;
  };
  element.addEventListener('pointerup', drop);
  element.addEventListener('pointercancel', drop);
}
