/**
 * Lists what a turn has changed, below its answer: each change as a diff, with buttons to keep or undo it. A turn is
 * the work of the assistant on one message.
 *
 * This module knows no session: `App.tsx` passes the functions that the buttons call. The modules in `review/` show
 * changes in the cells of the notebook.
 */

import * as React from 'react';

import { Change } from '../../chat/types';
import { baseName, toPlainText } from '../../render/format';
import { Diff } from '../common/Diff';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { Icon, IconButton } from '../common/Icon';
import { useMayAsk } from '../common/rights';

/** The functions that the buttons call. Each promise resolves when the list of changes is loaded again. */
export interface ReviewActions {
  /** Keeps these changes. */
  readonly onKeep: (changes: readonly Change[]) => Promise<void>;
  /** Undoes these changes. */
  readonly onUndo: (changes: readonly Change[]) => Promise<void>;
}

type Props = ReviewActions & {
  /** The changes of the turn. */
  readonly changes: readonly Change[];
  /** Whether a turn is running. During a turn the buttons are disabled. */
  readonly busy: boolean;
  /** Whether the list is unfolded at first. */
  readonly startsOpen?: boolean;
};

/** Draws the list, folded at first unless `startsOpen` is set; nothing when the turn has changed nothing. */
export function Changes({ changes, busy, startsOpen = false, onKeep, onUndo }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  const mayAsk = useMayAsk();
  const [open, setOpen] = React.useState(startsOpen);
  const [deciding, setDeciding] = React.useState(false);
  const head = React.useRef<HTMLButtonElement>(null);
  if (changes.length === 0) {
    return null;
  }
  // A settled change needs no decision, for example because it was approved before it was made. It can still be undone.
  const undecided = changes.filter(({ settled }) => settled !== true);
  const madeAlthoughRefusedCount = changes.filter(({ madeAlthoughRefused }) => madeAlthoughRefused === true).length;
  // `refused` says why the server cannot undo a change.
  const undoable = changes.filter(({ refused }) => refused === undefined);
  const decide = async (act: ReviewActions['onKeep'], chosen: readonly Change[]): Promise<void> => {
    setDeciding(true);
    await act(chosen);
    setDeciding(false);
    // The button that was pressed is not in the page any more. Without this the focus would go back to the top of the
    // page.
    head.current?.focus();
  };
  const disabled = busy || deciding;
  return (
    <section className="eca-Changes" aria-label={trans.__('Changes of this turn')}>
      <div className="eca-Changes-head">
        <button
          type="button"
          ref={head}
          className="eca-Changes-fold"
          aria-expanded={open}
          onClick={() => {
            setOpen(!open);
          }}
        >
          <span className={`eca-Fold${open ? ' eca-mod-open' : ''}`}>
            <Icon name="fold" />
          </span>
          {trans._n('%1 change', '%1 changes', changes.length)}
          {madeAlthoughRefusedCount > 0 && (
            <span className="eca-Changes-against">
              <Icon name="alert" />
              {madeAlthoughRefusedCount === changes.length
                ? trans._n('made although it was refused', 'made although they were refused', madeAlthoughRefusedCount)
                : trans._n(
                    '%1 made although it was refused',
                    '%1 made although they were refused',
                    madeAlthoughRefusedCount
                  )}
            </span>
          )}
        </button>
        {mayAsk && undecided.length > 0 && (
          <button
            type="button"
            className="eca-Button"
            disabled={disabled}
            onClick={() => void decide(onKeep, undecided)}
          >
            {trans.__('Keep all')}
          </button>
        )}
        {mayAsk && (
          <button
            type="button"
            className="eca-Button"
            disabled={disabled || undoable.length === 0}
            onClick={() => void decide(onUndo, undoable)}
          >
            {trans.__('Undo all')}
          </button>
        )}
      </div>
      {open && (
        <ul>
          {changes.map(change => (
            <Item
              key={change.id}
              change={change}
              busy={disabled}
              onKeep={chosen => decide(onKeep, chosen)}
              onUndo={chosen => decide(onUndo, chosen)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

type ItemProps = ReviewActions & {
  readonly change: Change;
  /** Whether the buttons are disabled. */
  readonly busy: boolean;
};

/** Draws one change: a link to its file or cell, its buttons and its diff. */
function Item({ change, busy, onKeep, onUndo }: ItemProps): React.ReactElement {
  const { trans, openPath, showCell } = useEnv();
  const mayAsk = useMayAsk();
  const title = useChangeTitle(change);
  const { text, refused } = change;
  return (
    <li className="eca-Change" data-kind={change.kind}>
      <div className="eca-Change-head">
        <button
          type="button"
          className="eca-Link eca-Change-title"
          title={change.path}
          dir="auto"
          onClick={() => {
            if (change.type === 'file') {
              openPath(change.path);
            } else {
              // `place` is the number of the cell. A cell that was deleted has none, so only the notebook is shown.
              showCell(change.path, change.place === undefined ? undefined : change.cellId);
            }
          }}
        >
          {title}
        </button>
        <span className="eca-Change-kind">{useKindText(change)}</span>
        {text !== undefined && (
          <span className="eca-Change-lines">
            <span className="eca-mod-added">+{text.linesAdded}</span>{' '}
            <span className="eca-mod-removed">−{text.linesRemoved}</span>
          </span>
        )}
        {mayAsk && change.settled !== true && (
          <IconButton
            icon="check"
            label={trans.__('Keep: %1', title)}
            disabled={busy}
            onClick={() => void onKeep([change])}
          />
        )}
        {mayAsk && (
          <IconButton
            icon="undo"
            label={trans.__('Undo: %1', title)}
            disabled={busy || refused !== undefined}
            onClick={() => void onUndo([change])}
          />
        )}
      </div>
      {change.madeAlthoughRefused === true && (
        <p className="eca-Changes-against">
          <Icon name="alert" />
          {trans.__('The agent made this change although it was refused.')}
        </p>
      )}
      {refused !== undefined && (
        <p className="eca-Change-refused">{trans.__('Cannot be undone: %1', toPlainText(refused))}</p>
      )}
      {text === undefined ? (
        <p className="eca-Change-refused">{trans.__('This change has no text to show.')}</p>
      ) : (
        text.diff !== '' && <Diff diff={text.diff} />
      )}
    </li>
  );
}

/** Return the name of the changed file, with the number of the cell. */
function useChangeTitle(change: Change): string {
  const { trans } = useEnv();
  const name = toPlainText(baseName(change.path));
  if (change.type === 'file') {
    return name;
  }
  const place = change.place ?? change.placeBefore;
  return place === undefined ? name : trans.__('Cell %1, %2', place, name);
}

/** Return the kind of a change in words. */
function useKindText(change: Change): string {
  const { trans } = useEnv();
  switch (change.kind) {
    case 'created':
      return trans.__('new');
    case 'inserted':
      return trans.__('inserted');
    case 'edited':
      return trans.__('edited');
    case 'deleted':
      return trans.__('deleted');
    case 'moved':
      return trans.__('moved from %1 to %2', change.placeBefore ?? '?', change.place ?? '?');
  }
}
