/**
 * Copies texts to the clipboard. The panel in Lab, the widget (the same panel in the output of a cell) and the answers
 * in cells all use this.
 *
 * Lab's own `Clipboard.copyToSystem` is not used, because it does not report a failure, and the widget runs without
 * Lab.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

/**
 * Copy a text, and return whether that was possible. A page over plain http has no `navigator.clipboard`, and a frame
 * may be forbidden to use it. Call this only when the user has clicked: otherwise browsers refuse it.
 */
export async function copyText(text: string): Promise<boolean> {
  // The type of the DOM does not know pages without a clipboard.
  const { clipboard } = navigator as { readonly clipboard?: Clipboard };
  try {
    if (clipboard !== undefined) {
      await clipboard.writeText(text);
      return true;
    }
  } catch {
    // The browser may still allow the second way below.
  }
  return copySelection(text);
}

/** Return the sentence for the user when a text could not be copied. */
export function describeCopyFailure(trans: TranslationBundle): string {
  return trans.__('This page may not copy. Select the text, and copy it with the keyboard.');
}

/** Copy a text by selecting it in a text area that nobody sees. Return whether the browser allowed that. */
function copySelection(text: string): boolean {
  const focused = document.activeElement;
  const box = document.createElement('textarea');
  box.value = text;
  box.setAttribute('aria-hidden', 'true');
  box.style.position = 'fixed';
  box.style.opacity = '0';
  document.body.append(box);
  box.select();
  try {
    // No other way exists where `navigator.clipboard` is missing.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    return document.execCommand('copy');
  } finally {
    box.remove();
    if (focused instanceof HTMLElement) {
      focused.focus({ preventScroll: true });
    }
  }
}
