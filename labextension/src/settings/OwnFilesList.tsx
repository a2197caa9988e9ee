/**
 * Draws a list of what the user defines in Markdown files of their own, which are agents or skills. The user can add
 * one, and change or delete it. The server writes the files.
 *
 * `Agents.tsx` and `Skills.tsx` say what is listed, and draw the form and what only their cards have.
 */

import * as React from 'react';

import { Session } from '../chat/session';
import { toPlainText } from '../render/format';
import { createElement } from '../view/common/element';
import { useEnv } from '../view/common/env';
import { describeError } from '../view/common/error_text';
import { TextWithCode } from '../view/common/TextWithCode';
import { ConfirmedButton } from './ConfirmedButton';
import { FileLinks } from './FileLink';

/** The list that the server returns. `locked` says why nothing can be added; it is absent when something can. */
export interface OwnFilesListing<Entry> {
  readonly entries: readonly Entry[];
  readonly locked?: string | undefined;
}

/** The functions that the form of an entry calls. */
interface FormActions {
  /**
   * Calls `write`, which returns a sentence about what was done, and closes the form. Returns the error message, with
   * which the form stays open; empty when there was no error.
   */
  readonly submit: (write: () => Promise<string>) => Promise<string>;
  /** Closes the form. */
  readonly cancel: () => void;
}

/** The form that the card of an entry shows, and the functions that the card calls. */
interface CardActions {
  /** The form of the entry, while it is open. */
  readonly form: React.ReactElement | undefined;
  /** Opens the form. */
  readonly edit: () => void;
  /** Calls `remove`, which returns a sentence about what was done, and fetches the list again. */
  readonly change: (remove: () => Promise<string>) => Promise<void>;
}

interface ListProps<Entry> {
  readonly session: Session;
  /** The sentence at the top. */
  readonly intro: string;
  /** The label of the button that opens the form for a new entry. */
  readonly addLabel: string;
  /** The name of the list for screen readers. */
  readonly listLabel: string;
  /** Fetches the list; undefined if that failed. Always the same function. */
  readonly fetchListing: (session: Session) => Promise<OwnFilesListing<Entry> | undefined>;
  /** Draws the form. `old` is the entry that is changed; undefined for a new one. */
  readonly drawForm: (actions: FormActions, old?: Entry) => React.ReactElement;
  /** Draws the card of an entry, with a key. */
  readonly drawCard: (entry: Entry, actions: CardActions) => React.ReactElement;
}

/** Fetches the list and shows it, also after each change. */
export function OwnFilesList<Entry>({
  session,
  fetchListing,
  drawForm,
  drawCard,
  ...texts
}: ListProps<Entry>): React.ReactElement {
  const { trans, ownFiles } = useEnv();
  const [listing, setListing] = React.useState<OwnFilesListing<Entry>>();
  /** The entry whose form is open, or `new`; undefined when no form is open. */
  const [edited, setEdited] = React.useState<Entry | 'new'>();
  /** A sentence about the last change that the user has made here; empty when there was none. */
  const [lastAction, setLastAction] = React.useState('');
  const reload = React.useCallback(async () => {
    setListing(await fetchListing(session));
  }, [session, fetchListing]);
  React.useEffect(() => {
    void reload();
    return ownFiles?.subscribe(() => void reload());
  }, [reload, ownFiles]);
  if (listing === undefined) {
    return <p className="eca-Note">{trans.__('Loading…')}</p>;
  }
  const open = (entry: Entry | 'new'): void => {
    setLastAction('');
    setEdited(entry);
  };
  const formActions: FormActions = {
    submit: async write => {
      try {
        setLastAction(await write());
      } catch (error) {
        return describeError(error, trans);
      }
      setEdited(undefined);
      await reload();
      return '';
    },
    cancel: () => {
      setEdited(undefined);
    }
  };
  return (
    <>
      <p className="eca-Note">{texts.intro}</p>
      {edited === 'new' ? (
        drawForm(formActions)
      ) : (
        <button
          type="button"
          className="eca-Button eca-mod-main"
          disabled={listing.locked !== undefined}
          onClick={() => {
            open('new');
          }}
        >
          {texts.addLabel}
        </button>
      )}
      {listing.locked !== undefined && <p className="eca-Note">{listing.locked}</p>}
      <p className="eca-Note" role="status">
        {lastAction}
      </p>
      <ul className="eca-Cards" aria-label={texts.listLabel}>
        {listing.entries.map(entry =>
          drawCard(entry, {
            form: edited === entry ? drawForm(formActions, entry) : undefined,
            edit: () => {
              open(entry);
            },
            change: async remove => {
              setLastAction(await remove());
              await reload();
            }
          })
        )}
      </ul>
    </>
  );
}

interface CardProps {
  readonly name: string;
  readonly origin: 'builtIn' | 'user' | 'project' | 'configuration' | 'outside';
  readonly description: string;
  /** The files that are shown. */
  readonly files: readonly string[];
  /** Why the file is not used; absent when it is used. */
  readonly error?: string | undefined;
  /** A short text beside the name. */
  readonly summary?: string;
  /** Sentences below the error. Those that are undefined or false are not shown. */
  readonly notes: readonly (string | undefined | false)[];
  /** The buttons before *Edit* and *Delete*. */
  readonly buttons: React.ReactNode;
  /** The name of the button *Edit* for screen readers. */
  readonly editLabel: string;
  /** Opens the form; absent when the entry cannot be changed. */
  readonly onEdit?: (() => void) | undefined;
  /** The file that *Delete* deletes; absent when there is none. */
  readonly deletedFile?: string | undefined;
  /** Deletes the file. */
  readonly onDelete: () => void;
  /** The form, while it is open. It replaces the buttons. */
  readonly form: React.ReactNode;
  /** Shown below the buttons. */
  readonly children?: React.ReactNode;
}

/** Draws the card of one entry. */
export function OwnFileCard({ name, description, error, deletedFile, ...props }: CardProps): React.ReactElement {
  const { trans } = useEnv();
  const origins = {
    builtIn: trans.__('built in'),
    user: trans.__('yours'),
    project: trans.__('of this workspace'),
    configuration: trans.__('in the configuration'),
    outside: trans.__('a program of its own')
  };
  return (
    <li className="eca-Card" aria-label={name}>
      <div className="eca-Card-head">
        <strong dir="auto">{name}</strong>
        <span className="eca-Badge">{origins[props.origin]}</span>
        {props.summary !== undefined && <span className="eca-Note">{props.summary}</span>}
      </div>
      {description !== '' && <p dir="auto">{toPlainText(description)}</p>}
      {props.files.length > 0 && <FileLinks files={props.files} />}
      {error !== undefined && (
        <p className="eca-Trouble" dir="auto">
          <TextWithCode text={trans.__('This file is not used: %1.', toPlainText(error))} />
        </p>
      )}
      {props.notes.map(
        note =>
          note !== undefined &&
          note !== false && (
            <p key={note} className="eca-Note">
              {note}
            </p>
          )
      )}
      {props.form ?? (
        <div className="eca-Card-actions">
          {props.buttons}
          {props.onEdit !== undefined && (
            <button type="button" className="eca-Button" aria-label={props.editLabel} onClick={props.onEdit}>
              {trans.__('Edit…')}
            </button>
          )}
          {deletedFile !== undefined && (
            <ConfirmedButton
              label={trans.__('Delete')}
              confirmLabel={trans.__('Delete the file permanently')}
              title={trans.__('Delete the file %1', deletedFile)}
              onConfirm={props.onDelete}
            />
          )}
        </div>
      )}
      {props.children}
    </li>
  );
}
