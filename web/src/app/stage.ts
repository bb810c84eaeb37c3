// SPDX-License-Identifier: Apache-2.0

// The place of the terminals in the page: a cell for each pane that is seen, and
// the lines between tiles, which can be dragged.

import type { Placed } from '../wire/verbs';
import { type Box, isTitled, ratioMin, type Rect, type Separator } from './layout';
import type { Pane } from './pane';

/** One press of an arrow key on a separator, in 1/10000. */
const keyStep = 250;

/** Above tiles and the lines between them. */
const floatsFrom = 10;

export interface Frame {
  tiles: readonly { pane: Pane; rect: Rect }[];
  /** From the back to the front. */
  floats: readonly { pane: Pane; float: Placed; box: Box }[];
  separators: readonly Separator[];
  active: Pane | null;
}

export interface StageDeps {
  /** While a separator is dragged. */
  onDrag(separator: Separator, ratio: number): void;
  onDrop(separator: Separator, ratio: number): void;
}

export class Stage {
  readonly element = document.createElement('div');
  #lines: HTMLElement[] = [];
  #separators: readonly Separator[] = [];

  constructor(private readonly deps: StageDeps) {
    this.element.id = 'stage';
    this.element.className = 'stage';
  }

  /** Puts every cell where it belongs. Which screens are shown or hidden is the caller's matter. */
  place(frame: Frame): void {
    const { tiles, floats } = frame;
    this.element.classList.toggle('tiled', tiles.length + floats.length > 1);
    for (const { pane, rect } of tiles) {
      this.#put(pane, 'cell', frame.active, {
        left: percent(rect.x),
        top: percent(rect.y),
        width: percent(rect.w),
        height: percent(rect.h),
        zIndex: '',
      });
    }
    floats.forEach(({ pane, float, box }, place) => {
      const kind = `cell float border-${float.border} ${isTitled(float) ? 'titled' : ''}`;
      this.#put(pane, kind, frame.active, {
        left: `${box.left}px`,
        top: `${box.top}px`,
        width: `${box.width}px`,
        height: `${box.height}px`,
        // Here the one that has the keys is in front, before the host has raised it, and where it will not.
        zIndex: String(floatsFrom + (pane === frame.active ? floats.length : place)),
      });
    });
    this.#separators = frame.separators;
    while (this.#lines.length > frame.separators.length) this.#lines.pop()?.remove();
    frame.separators.forEach((separator, place) => {
      this.#draw(place, separator);
    });
  }

  #put(pane: Pane, kind: string, active: Pane | null, style: Partial<CSSStyleDeclaration>): void {
    const { cell } = pane;
    // Moving an element in the page takes the focus from it, so it stays where it is.
    if (cell.parentElement !== this.element) this.element.append(cell);
    Object.assign(cell.style, style);
    const marks = ['faded', 'record'].filter((mark) => cell.classList.contains(mark));
    cell.className = [kind, ...marks, ...(pane === active ? ['active'] : [])].join(' ');
  }

  #draw(place: number, { axis, rect, ratio, pane }: Separator): void {
    const line = this.#lines[place] ?? this.#make(place);
    const cols = axis === 'cols';
    const share = ratio / 10_000;
    line.className = `separator ${axis}`;
    line.setAttribute('aria-orientation', cols ? 'vertical' : 'horizontal');
    line.setAttribute('aria-valuenow', String(Math.round(ratio / 100)));
    line.setAttribute('aria-disabled', String(pane === ''));
    Object.assign(line.style, {
      left: percent(cols ? rect.x + rect.w * share : rect.x),
      top: percent(cols ? rect.y : rect.y + rect.h * share),
      width: cols ? '' : percent(rect.w),
      height: cols ? percent(rect.h) : '',
    });
  }

  #make(place: number): HTMLElement {
    const line = document.createElement('div');
    line.setAttribute('role', 'separator');
    line.setAttribute('aria-label', 'Between two terminals');
    line.tabIndex = 0;
    let held: number | null = null;
    line.addEventListener('pointerdown', (event) => {
      if (!this.#separators[place]?.pane) return;
      event.preventDefault();
      line.setPointerCapture(event.pointerId);
      held = this.#separators[place].ratio;
    });
    line.addEventListener('pointermove', (event) => {
      const separator = this.#separators[place];
      if (held === null || !separator) return;
      held = this.#ratioAt(separator, event);
      this.deps.onDrag(separator, held);
    });
    const drop = () => {
      const separator = this.#separators[place];
      if (held !== null && separator) this.deps.onDrop(separator, held);
      held = null;
    };
    line.addEventListener('pointerup', drop);
    line.addEventListener('pointercancel', drop);
    line.addEventListener('keydown', (event) => this.#key(place, event));
    this.#lines[place] = line;
    this.element.append(line);
    return line;
  }

  #key(place: number, event: KeyboardEvent): void {
    const separator = this.#separators[place];
    const back = event.key === 'ArrowLeft' || event.key === 'ArrowUp';
    if (!separator?.pane || (!back && event.key !== 'ArrowRight' && event.key !== 'ArrowDown'))
      return;
    event.preventDefault();
    event.stopPropagation();
    this.deps.onDrop(separator, clamp(separator.ratio + (back ? -keyStep : keyStep)));
  }

  #ratioAt({ axis, rect }: Separator, event: PointerEvent): number {
    const box = this.element.getBoundingClientRect();
    const at =
      axis === 'cols'
        ? ((event.clientX - box.left) / box.width - rect.x) / rect.w
        : ((event.clientY - box.top) / box.height - rect.y) / rect.h;
    return clamp(Math.round(at * 10_000));
  }
}

function clamp(ratio: number): number {
  return Math.min(10_000 - ratioMin, Math.max(ratioMin, ratio));
}

function percent(part: number): string {
  return `${(part * 100).toFixed(3)}%`;
}
