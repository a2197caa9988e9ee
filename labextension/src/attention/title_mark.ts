/**
 * Puts a mark before the title of the page, which the tab of the browser shows.
 *
 * Lab sets the title itself whenever another document comes to the front. So the title is observed, and is marked again.
 */

import type { Mark } from './attention';

/** A sign for each mark. A tab is narrow, so each is short. */
const SIGNS: Readonly<Record<Mark, string>> = { waiting: '❗ ', ended: '✓ ', running: '⋯ ', none: '' };
const SIGN = new RegExp(`^(?:${Object.values(SIGNS).filter(Boolean).join('|')})`);

/** Return a title with another mark, or none. */
export function markTitle(title: string, mark: Mark): string {
  return SIGNS[mark] + title.replace(SIGN, '');
}

export class TitleMark {
  private mark: Mark = 'none';

  constructor(private readonly page: Document) {
    const observer = new MutationObserver(() => {
      this.update();
    });
    observer.observe(page.head, { subtree: true, childList: true, characterData: true });
  }

  set(mark: Mark): void {
    this.mark = mark;
    this.update();
  }

  private update(): void {
    const title = markTitle(this.page.title, this.mark);
    // The same title is not set again: that would call the observer without end.
    if (title !== this.page.title) {
      this.page.title = title;
    }
  }
}
