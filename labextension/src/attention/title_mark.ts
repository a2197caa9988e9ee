/**
 * Puts a mark before the title of the page, which the tab of the browser shows.
 *
 * Lab sets the title itself whenever another document comes to the front. So the title is observed, and is marked
 * again.
 */

import type { TabMark } from './attention';

/** A sign for each mark. A tab is narrow, so each is short. */
const SIGNS: Readonly<Record<TabMark, string>> = { waiting: '❗ ', ended: '✓ ', running: '⋯ ', none: '' };
/** Matches a sign at the beginning of a title. */
const SIGN_PATTERN = new RegExp(`^(?:${Object.values(SIGNS).filter(Boolean).join('|')})`);

/** Return the title with this mark in place of the mark that it has. */
export function markTitle(title: string, mark: TabMark): string {
  return SIGNS[mark] + title.replace(SIGN_PATTERN, '');
}

/** Keeps a mark in the title of the page. */
export class TitleMark {
  /** The mark that the title should have. */
  private mark: TabMark = 'none';

  constructor(private readonly page: Document) {
    const observer = new MutationObserver(() => {
      this.update();
    });
    observer.observe(page.head, { subtree: true, childList: true, characterData: true });
  }

  /** Show another mark. */
  set(mark: TabMark): void {
    this.mark = mark;
    this.update();
  }

  /** Put the mark into the title, if it is not there. */
  private update(): void {
    const title = markTitle(this.page.title, this.mark);
    // The same title is not set again, because that would call the observer again and again.
    if (title !== this.page.title) {
      this.page.title = title;
    }
  }
}
