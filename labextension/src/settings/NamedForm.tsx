/**
 * Draws what the forms for agents, skills and servers have in common: the name, the place where it is written, the
 * error and the buttons. The fields between the name and the place are passed as children.
 *
 * This module knows no session: the form of each kind reads its fields and passes them on.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { useEnv } from '../view/common/env';
import { TextWithCode } from '../view/common/TextWithCode';
import { readField } from '../view/first_run/Login';

/** Returns the text of the field with a name. */
export type GetField = (name: string) => string;

/** Where something applies: in this workspace, or in all workspaces of the user (`global`). */
export type Scope = 'workspace' | 'global';

interface Props {
  /** The name of the form for screen readers. */
  readonly label?: string;
  /** The name of what is changed. It stays the same. Absent for something new. */
  readonly oldName?: string | undefined;
  /** Matches a valid name of something new. */
  readonly namePattern: RegExp;
  /** The error message for a name that does not match. */
  readonly nameError: string;
  /** The scopes that can be chosen for something new. The first one is chosen when the form opens. */
  readonly scopes: readonly Scope[];
  /** Where a change is written. Shown in place of the scopes. */
  readonly changeNote: React.ReactNode;
  readonly submitLabel: string;
  /** Reads the fields and writes what they say. Returns the error message; empty when there was no error. */
  readonly onSubmit: (getField: GetField) => Promise<string>;
  /** Closes the form. */
  readonly onCancel: () => void;
  /** The other fields. */
  readonly children: React.ReactNode;
}

/** Draws the form. It checks the name before it calls `onSubmit`. */
export function NamedForm({ oldName, scopes, children, ...props }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [error, setError] = React.useState('');
  const [busy, setBusy] = React.useState(false);
  const isNew = oldName === undefined;
  const submit = async (event: React.FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const getField: GetField = name => readField(data, name);
    if (isNew && !props.namePattern.test(getField('name').trim())) {
      setError(props.nameError);
      return;
    }
    setBusy(true);
    setError(await props.onSubmit(getField));
    setBusy(false);
  };
  const scopeTexts = { workspace: trans.__('this workspace'), global: trans.__('all your workspaces') };
  return (
    <form className="eca-Card eca-Form" aria-label={props.label} onSubmit={event => void submit(event)}>
      <label>
        {trans.__('Name')}
        <input
          className="eca-Input"
          name="name"
          required
          autoFocus={isNew}
          readOnly={!isNew}
          defaultValue={oldName}
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      {children}
      {isNew ? (
        <label>
          {trans.__('For')}
          <select name="scope">
            {scopes.map(scope => (
              <option key={scope} value={scope}>
                {scopeTexts[scope]}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <p className="eca-Note">{props.changeNote}</p>
      )}
      {error !== '' && (
        <p className="eca-Trouble" role="alert">
          <TextWithCode text={error} />
        </p>
      )}
      <div className="eca-Card-actions">
        <button type="submit" className="eca-Button eca-mod-main" disabled={busy}>
          {props.submitLabel}
        </button>
        <button type="button" className="eca-Button" onClick={props.onCancel}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}

/**
 * Return the fields that tell the server where something is written: the scope that the user has chosen or, for a
 * change, the file that is changed (`old`). With the digest of the text that the user has seen, the server refuses to
 * overwrite a file that has changed since. Without a file and its digest nothing can be changed, and the result is
 * empty.
 */
export function readPlace(
  getField: GetField,
  old: { readonly file: string | undefined; readonly digest?: string | undefined } | undefined
): { scope?: Scope; old?: { file: string; digest: string } } {
  if (old === undefined) {
    return { scope: getField('scope') === 'global' ? 'global' : 'workspace' };
  }
  const { file, digest } = old;
  return file !== undefined && digest !== undefined ? { old: { file, digest } } : {};
}
