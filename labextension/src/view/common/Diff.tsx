/**
 * Draws the diff of a file line by line. The diff of a notebook also has the numbers and the types of its cells.
 *
 * This module does not parse a diff: `render/unified_diff.ts` does.
 */

import * as React from 'react';

import { DiffKind, DiffLine, parseCellDiff, parseDiff } from '../../render/unified_diff';
import { toExactText } from '../../render/format';
import { createElement } from './element';
import { useEnv } from './env';

/** The most lines that are drawn at once. More would make the page slow. */
const MAX_LINES = 400;
/** The most characters of a line that are drawn. It is high, so that a user who approves sees whole lines. */
const MAX_LINE_LENGTH = 20_000;
/** The sign before each line. */
const SIGNS: Readonly<Record<DiffKind, string>> = { add: '+', remove: '−', same: ' ', gap: '⋯' };

interface Props {
  /** The diff in the unified format, as `git diff` writes it. */
  readonly diff: string;
  /** Whether the diff is that of a notebook, in which the headings of cells are lines. */
  readonly isNotebook?: boolean;
}

/** Draws a diff. While a part of the diff is not shown, a button below it shows all of it. */
export const Diff = React.memo(function Diff({ diff, isNotebook = false }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [isWhole, setWhole] = React.useState(false);
  const lines = React.useMemo(() => (isNotebook ? parseCellDiff(diff) : parseDiff(diff)), [diff, isNotebook]);
  const isCut = lines.length > MAX_LINES || lines.some(line => line.text.length > MAX_LINE_LENGTH);
  const spokenSigns: Readonly<Record<DiffKind, string>> = {
    add: trans.__('added: '),
    remove: trans.__('removed: '),
    same: '',
    gap: ''
  };
  return (
    <div className="eca-Diff" role="group" aria-label={trans.__('Change')} tabIndex={0}>
      <table role="presentation">
        <tbody>
          {lines.slice(0, isWhole ? undefined : MAX_LINES).map((line, index) => (
            <tr key={index} className={`eca-mod-${line.kind}`}>
              <td className="eca-Diff-number">{line.oldNumber ?? ''}</td>
              <td className="eca-Diff-number">{line.newNumber ?? ''}</td>
              <td className="eca-Diff-sign" aria-hidden="true">
                {SIGNS[line.kind]}
              </td>
              <td className="eca-Diff-text">
                <span className="eca-Hidden">{spokenSigns[line.kind]}</span>
                {line.cell !== undefined ? (
                  <CellHeadingText cell={line.cell} />
                ) : (
                  toExactText(isWhole ? line.text : line.text.slice(0, MAX_LINE_LENGTH))
                )}
                {!isWhole && line.text.length > MAX_LINE_LENGTH && '…'}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {isCut && !isWhole && (
        <button
          type="button"
          className="eca-Link"
          onClick={() => {
            setWhole(true);
          }}
        >
          {lines.length > MAX_LINES ? trans.__('Show all %1 lines', lines.length) : trans.__('Show the whole lines')}
        </button>
      )}
    </div>
  );
});

/** Draws the heading of a cell: its number and its type. */
function CellHeadingText({ cell }: { readonly cell: NonNullable<DiffLine['cell']> }): React.ReactElement {
  const { trans } = useEnv();
  const types: Readonly<Record<string, string>> = {
    code: trans.__('code'),
    markdown: trans.__('Markdown'),
    raw: trans.__('raw text')
  };
  const type = types[cell.type] ?? cell.type;
  return (
    <span className="eca-Diff-cell">
      {cell.number === undefined ? trans.__('New cell · %1', type) : trans.__('Cell %1 · %2', cell.number, type)}
    </span>
  );
}
