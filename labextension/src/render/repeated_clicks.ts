/**
 * Ignores the second click of a double click on a button. After the first click, another button may be in the same
 * place: where *Approve* was there is *Undo*, and where a deleted chat was there is the next one.
 */

/** Ignore repeated clicks of the mouse on all buttons in an element. Keys are not ignored. */
export function ignoreRepeatedClicks(node: HTMLElement): void {
  node.addEventListener(
    'click',
    event => {
      // `detail` counts the clicks; it is 0 for a key.
      if (event.detail > 1 && (event.target as Element).closest('button') !== null) {
        event.preventDefault();
        event.stopImmediatePropagation();
      }
    },
    true
  );
}
