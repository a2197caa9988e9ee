/**
 * Draws the form for a skill that the user adds or changes.
 *
 * This module knows no session: `Skills.tsx` sends what the user has typed, and the server writes the file.
 */

import * as React from 'react';

import { SkillEntry, SkillsWriteParams } from '../wire/protocol';
import { toExactText } from '../render/format';
import { useEnv } from '../view/common/env';
import { TextWithCode } from '../view/common/TextWithCode';
import { readField } from '../view/first_run/Login';

interface Props {
  /** The skill that is changed; absent for a new one. Its name and its file stay the same. */
  readonly old?: SkillEntry;
  /** Writes the skill. Returns the error message; empty when there was no error. */
  readonly onSubmit: (params: SkillsWriteParams) => Promise<string>;
  /** Closes the form. */
  readonly onCancel: () => void;
}

/** Matches a valid name. The name becomes the name of a folder. */
const NAME_PATTERN = /^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/;

/** Draws the form. It checks the name before it calls `onSubmit`. */
export function SkillForm({ old, onSubmit, onCancel }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [error, setError] = React.useState('');
  const [busy, setBusy] = React.useState(false);
  const submit = async (event: React.FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const params = readSkill(name => readField(data, name), old);
    if (old === undefined && !NAME_PATTERN.test(params.name)) {
      setError(trans.__('The name may have only small letters, digits and single hyphens, for example tidy-tables.'));
      return;
    }
    setBusy(true);
    setError(await onSubmit(params));
    setBusy(false);
  };
  return (
    <form
      className="eca-Card eca-Form"
      aria-label={old === undefined ? trans.__('A new skill') : trans.__('The skill %1', old.name)}
      onSubmit={event => void submit(event)}
    >
      <label>
        {trans.__('Name')}
        <input
          className="eca-Input"
          name="name"
          required
          autoFocus={old === undefined}
          readOnly={old !== undefined}
          defaultValue={old?.name}
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      <label>
        {trans.__('What it does, and when the assistant uses it')}
        <input
          className="eca-Input"
          name="description"
          required
          autoFocus={old !== undefined}
          defaultValue={old?.description}
          autoComplete="off"
        />
      </label>
      <label>
        {trans.__('Instructions')}
        <textarea className="eca-Input" name="body" rows={10} defaultValue={old?.body} />
      </label>
      {old === undefined ? (
        <label>
          {trans.__('For')}
          <select name="scope">
            <option value="workspace">{trans.__('this workspace')}</option>
            <option value="global">{trans.__('all your workspaces')}</option>
          </select>
        </label>
      ) : (
        <p className="eca-Note">
          {trans.__('The change is written to %1. What is not shown here stays.', toExactText(old.file))}
        </p>
      )}
      {error !== '' && (
        <p className="eca-Trouble" role="alert">
          <TextWithCode text={error} />
        </p>
      )}
      <div className="eca-Card-actions">
        <button type="submit" className="eca-Button eca-mod-main" disabled={busy}>
          {old === undefined ? trans.__('Add the skill') : trans.__('Save the skill')}
        </button>
        <button type="button" className="eca-Button" onClick={onCancel}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}

/**
 * Return the skill that the fields of the form describe. `getField` returns the text of the field with a name. `old` is
 * the skill that is changed.
 */
export function readSkill(getField: (name: string) => string, old?: SkillEntry): SkillsWriteParams {
  return {
    name: getField('name').trim(),
    description: getField('description').trim(),
    body: getField('body'),
    // With the digest of the text that the user has seen, the server refuses to overwrite a file that has changed since.
    // A skill without a digest cannot be changed.
    ...(old === undefined
      ? { scope: getField('scope') === 'global' ? 'global' : 'workspace' }
      : old.digest !== undefined && { old: { file: old.file, digest: old.digest } })
  };
}
