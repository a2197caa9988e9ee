/**
 * Keeps the focus in the panel or in the settings when the focused element is removed or disabled, for example the
 * buttons of an approval, the row of a chat that is deleted, or a button while its request is under way.
 *
 * Without this, browsers would give the focus to the page, and the next key would be a command of the notebook. This
 * module knows no view: it finds the card in which the element was, or the prompt box, by their CSS selectors.
 */

import * as React from 'react';

// All of these are CSS selectors. The card of a tool call:
const CARD = '.eca-Tool';
// The head of the card, which can have the focus.
const CARD_HEAD = '.eca-Tool-head';
// The prompt box.
export const PROMPT_BOX = 'textarea[role=combobox]';
// The elements that can get the focus while a button in them is disabled.
const HOLDER = 'form, section, [role=group], [role=tabpanel], .eca-Panel';
// The elements to which a user can move the focus with the Tab key.
const FOCUSABLE = ':is(button, input, select, textarea):not(:disabled), summary, a[href], [tabindex="0"]';

/**
 * When the focused element of `panel` is removed, give the focus to the card in which it was. If the card is gone, too,
 * give it to the prompt box or, where there is none, to what is next to the place of the removed element.
 *
 * When the focused element is disabled, give the focus to the form or group around it until the element is enabled
 * again.
 */
export function useFocusRestoration(panel: React.RefObject<HTMLElement>): void {
  React.useEffect(() => {
    const node = panel.current;
    if (node === null) {
      return undefined;
    }
    /** The element that has the focus; undefined when none in the panel has it. */
    let focused: Element | undefined;
    /** The head of the card in which this element is. */
    let cardHead: HTMLElement | null | undefined;
    const handleFocus = ({ target }: FocusEvent): void => {
      focused = target instanceof Element ? target : undefined;
      cardHead = focused?.closest(CARD)?.querySelector<HTMLElement>(CARD_HEAD);
    };
    // Some browsers send this event also for an element that is about to be removed. So the element is checked a moment
    // later: if it is still in the page, the user has moved the focus.
    const handleBlur = ({ target }: FocusEvent): void => {
      queueMicrotask(() => {
        if (target instanceof Element && target.isConnected && document.activeElement !== target) {
          focused = focused === target ? undefined : focused;
        }
      });
    };
    /** The element that was disabled while it had the focus, and what has the focus in its place. */
    let disabled: { readonly element: HTMLElement; readonly holder: HTMLElement } | undefined;
    const observer = new MutationObserver(records => {
      if (disabled?.element.matches(':enabled') === true) {
        if (document.activeElement === disabled.holder) {
          disabled.element.focus();
        }
        disabled = undefined;
      }
      if (focused?.matches(':disabled') === true) {
        disabled = holdFocus(focused);
        return;
      }
      if (focused === undefined || focused.isConnected) {
        return;
      }
      const removed = focused;
      focused = undefined;
      // A field that has replaced the button may have the focus already.
      if (document.activeElement === null || document.activeElement === document.body) {
        const home = cardHead?.isConnected === true ? cardHead : node.querySelector<HTMLElement>(PROMPT_BOX);
        (home ?? findNeighbour(records, removed, node))?.focus();
      }
    });
    node.addEventListener('focusin', handleFocus);
    node.addEventListener('focusout', handleBlur);
    observer.observe(node, { childList: true, subtree: true, attributeFilter: ['disabled'] });
    return () => {
      node.removeEventListener('focusin', handleFocus);
      node.removeEventListener('focusout', handleBlur);
      observer.disconnect();
    };
  }, [panel]);
}

/**
 * Give the focus to the form or group around a disabled element, where no key presses a button. Return the element and
 * the form or group (`holder`); undefined if there is none.
 */
function holdFocus(element: Element): { readonly element: HTMLElement; readonly holder: HTMLElement } | undefined {
  const holder = element.parentElement?.closest<HTMLElement>(HOLDER) ?? null;
  if (holder === null || !(element instanceof HTMLElement)) {
    return undefined;
  }
  if (!holder.hasAttribute('tabindex')) {
    holder.tabIndex = -1;
  }
  holder.focus({ preventScroll: true });
  return { element, holder };
}

/**
 * Find an element that can have the focus near the place of a removed element: the element that is there now, or one
 * after it, before it or around it, within `node`. Undefined when there is none. `records` are the mutations, of which
 * one has removed the element.
 */
function findNeighbour(records: readonly MutationRecord[], removed: Element, node: Element): HTMLElement | undefined {
  const record = records.find(({ removedNodes }) => [...removedNodes].some(other => other.contains(removed)));
  if (record === undefined) {
    return undefined;
  }
  const { previousSibling, nextSibling, target } = record;
  const places = [
    previousSibling === null ? target.firstChild : previousSibling.nextSibling,
    nextSibling,
    previousSibling
  ];
  for (let around: Node | null = target; around !== null && node.contains(around); around = around.parentNode) {
    places.push(around);
  }
  return places
    .filter(place => place instanceof HTMLElement && place.isConnected)
    .flatMap(place => [place, ...(place as HTMLElement).querySelectorAll<HTMLElement>('*')] as HTMLElement[])
    .find(element => element.matches(FOCUSABLE) && element.checkVisibility());
}
