// Small helpers for elements. Text goes in as text nodes only: nothing here, or elsewhere, parses a string as HTML.

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Makes an element. Names that it has as properties are set as such, `on…` are listeners, others attributes.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element) element[name] = value;
    else element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function makeSvg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * Rebuilds a part of the page without losing the keyboard's place: elements are known again by `data-key`.
 *
 * @param {HTMLElement} container
 * @param {() => void} rebuild
 */
export function keepFocus(container, rebuild) {
  const focused = container.contains(document.activeElement) ? document.activeElement : null;
  const key = focused?.dataset.key;
  rebuild();
  if (!key || document.activeElement === focused) return;
  const again = [...container.querySelectorAll("[data-key]")].find((element) => element.dataset.key === key);
  // A button that has done its work may be gone: the next best place is its neighbour.
  (again ?? container.querySelector("button"))?.focus({ preventScroll: true });
}

/**
 * The place that an arrow key, Home or End leads to; undefined for other keys.
 *
 * @param {string} key
 * @param {number} at the present place
 * @param {number} count the number of places
 */
export function placeByKey(key, at, count) {
  return {
    ArrowDown: at + 1,
    ArrowRight: at + 1,
    ArrowUp: at - 1,
    ArrowLeft: at - 1,
    Home: 0,
    End: count - 1,
  }[key];
}

/**
 * Lets the arrow keys, Home and End move between the buttons of a container.
 *
 * @param {HTMLElement} container
 * @param {string} selector
 */
export function moveWithArrows(container, selector) {
  container.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !event.target.matches(selector)) return;
    const all = [...container.querySelectorAll(selector)];
    const at = all.indexOf(event.target);
    const to = placeByKey(event.key, at, all.length);
    if (to === undefined) return;
    event.preventDefault();
    all[to]?.focus();
  });
}

/**
 * Makes a `<details>` behave as a menu: Escape, a choice or a click elsewhere closes it.
 *
 * @param {HTMLDetailsElement} menu
 */
export function closeAsMenu(menu) {
  const summary = menu.querySelector("summary");
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    summary.focus();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
}

/**
 * Saves a text as a file.
 *
 * @param {string} name
 * @param {string | Blob} text
 * @param {string} type
 */
export function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

let said;

/**
 * Tells screen readers something, once things have settled.
 *
 * @param {string} words
 */
export function announce(words) {
  clearTimeout(said);
  said = setTimeout(() => {
    const place = byId("announcements");
    if (place.textContent !== words) place.textContent = words;
  }, 1200);
}
