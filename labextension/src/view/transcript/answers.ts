/**
 * Finds the answers in a transcript: what the assistant wrote between two messages of the user, as Markdown. Pure.
 *
 * The answer of a command is the text of the server, because no model was asked.
 */

import { Block, Blocks, TextBlock } from '../../chat/blocks';

/**
 * Return the keys of the last texts of all answers. While a turn runs, its answer is not complete, so it is left out.
 */
export function listAnswerEnds(blocks: Blocks, busy: boolean): ReadonlySet<string> {
  const ends = new Set<string>();
  let last: TextBlock | undefined;
  for (const block of blocks) {
    if (block.kind === 'user') {
      addKey(ends, last);
      last = undefined;
    } else if (isText(block) && !(last?.kind === 'text' && block.kind === 'system')) {
      last = block;
    }
  }
  if (!busy) {
    addKey(ends, last);
  }
  return ends;
}

function addKey(ends: Set<string>, last: TextBlock | undefined): void {
  if (last !== undefined) {
    ends.add(last.key);
  }
}

/** Return the whole answer whose last text has this key, as Markdown. */
export function collectAnswer(blocks: Blocks, key: string): string {
  const end = blocks.findIndex(block => block.key === key);
  const start = blocks.slice(0, end).findLastIndex(block => block.kind === 'user') + 1;
  const kind = blocks[end]?.kind;
  return blocks
    .slice(start, end + 1)
    .filter(isText)
    .filter(block => block.kind === kind)
    .map(({ text }) => text.trim())
    .join('\n\n');
}

function isText(block: Block): block is TextBlock {
  return block.kind === 'text' || block.kind === 'system';
}
