/** Elements, without a framework: the page has a few hundred of them that change, and one text that is drawn by hand. */

type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;
type Child = Node | string | null | undefined | false;

/** An element: attributes by name, listeners by functions (`onclick`), children in order. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  setAll(element, attributes);
  element.append(...children.filter((child): child is Node | string => child != null && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name, attributes: Attributes = {}, ...children: Node[]
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS(SVG, name);
  setAll(element, attributes);
  element.append(...children);
  return element;
}

export function setAll(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value === false || value == null) element.removeAttribute(name);
    else element.setAttribute(name, String(value));
  }
}

/** The element of the page's HTML with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no #${id}`);
  return found as T;
}
