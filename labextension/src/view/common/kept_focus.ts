/**
 * Keeps the focus in the panel when the element that has it goes away, as the buttons of an approval do.
 *
 * Browsers then give the focus to the page, where the next key would be a command of the notebook. Knows no view: it
 * looks for the card that the element stood in, and else for the prompt box.
 */

import * as React from 'react';

const CARD = '.eca-Tool';
const CARD_HEAD = '.eca-Tool-head';
const PROMPT_BOX = 'textarea[role=combobox]';

/** Give the focus to the card, or else to the prompt box, when the focused element of `panel` is removed. */
export function useKeptFocus(panel: React.RefObject<HTMLElement>): void {
  React.useEffect(() => {
    const node = panel.current;
    if (node === null) {
      return undefined;
    }
    let focused: Element | undefined;
    let head: HTMLElement | null | undefined;
    const handleFocus = ({ target }: FocusEvent): void => {
      focused = target instanceof Element ? target : undefined;
      head = focused?.closest(CARD)?.querySelector<HTMLElement>(CARD_HEAD);
    };
    // Some browsers report this for a removed element too, just before it is removed.
    const handleBlur = ({ target }: FocusEvent): void => {
      queueMicrotask(() => {
        if (target instanceof Element && target.isConnected && document.activeElement !== target) {
          focused = focused === target ? undefined : focused;
        }
      });
    };
    const observer = new MutationObserver(() => {
      if (focused === undefined || focused.isConnected) {
        return;
      }
      focused = undefined;
      // A field that opened in place of the button may have the focus already.
      if (document.activeElement === null || document.activeElement === document.body) {
        (head?.isConnected === true ? head : node.querySelector<HTMLElement>(PROMPT_BOX))?.focus();
      }
    });
    node.addEventListener('focusin', handleFocus);
    node.addEventListener('focusout', handleBlur);
    observer.observe(node, { childList: true, subtree: true });
    return () => {
      node.removeEventListener('focusin', handleFocus);
      node.removeEventListener('focusout', handleBlur);
      observer.disconnect();
    };
  }, [panel]);
}
