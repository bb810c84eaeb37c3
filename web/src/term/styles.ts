// SPDX-License-Identifier: Apache-2.0

// xterm.js writes its rules into <style> elements and style attributes, which a
// policy without 'unsafe-inline' refuses. Both are turned into what the policy
// allows because it is not markup: constructed sheets and the style object.

/** To be called once, before the first terminal is made. */
export function styleWithoutMarkup(): void {
  adoptStyleElements();
  const setAttribute = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function (name: string, value: string) {
    if (name === 'style' && this instanceof HTMLElement) this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
}

function adoptStyleElements(): void {
  const create = document.createElement;
  document.createElement = function (
    this: Document,
    name: string,
    options?: ElementCreationOptions,
  ) {
    if (name.toLowerCase() !== 'style') return create.call(this, name, options);
    // Even an empty style element is refused, so an inert one stands in for it.
    return sheetElement(create.call(this, 'template'));
  } as typeof document.createElement;
}

/** An element whose text is the text of a sheet of the document, while it is there. */
function sheetElement(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  let text = '';
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, 'textContent', {
    get: () => text,
    set: (rules: string) => {
      text = rules;
      sheet.replaceSync(rules);
    },
  });
  element.remove = () => {
    HTMLElement.prototype.remove.call(element);
    const at = document.adoptedStyleSheets.indexOf(sheet);
    if (at >= 0) document.adoptedStyleSheets.splice(at, 1);
  };
  return element;
}
