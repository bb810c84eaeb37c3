// SPDX-License-Identifier: Apache-2.0

/**
 * Keeps the page as tall as what is visible: a phone's keyboard covers the
 * bottom of the layout viewport, and the terminal must end above it.
 */
export function followViewport(): void {
  const view = window.visualViewport;
  if (!view) return;
  const follow = () => {
    // A pinch zooms into the page; the layout does not follow that.
    if (view.scale > 1.01) return;
    const style = document.documentElement.style;
    style.setProperty('--height', `${Math.round(view.height)}px`);
    style.setProperty('--top', `${Math.round(view.offsetTop)}px`);
  };
  view.addEventListener('resize', follow);
  view.addEventListener('scroll', follow);
  follow();
}
