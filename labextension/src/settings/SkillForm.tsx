/**
 * Draws the form for a skill that the user adds or changes.
 *
 * This module knows no session: `Skills.tsx` sends what the user has typed, and the server writes the file.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { SkillEntry, SkillsWriteParams } from '../wire/protocol';
import { toExactText } from '../render/format';
import { useEnv } from '../view/common/env';
import { GetField, NamedForm, readPlace } from './NamedForm';

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

/** Draws the form. */
export function SkillForm({ old, onSubmit, onCancel }: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <NamedForm
      label={old === undefined ? trans.__('A new skill') : trans.__('The skill %1', old.name)}
      oldName={old?.name}
      namePattern={NAME_PATTERN}
      nameError={trans.__('The name may have only small letters, digits and single hyphens, for example tidy-tables.')}
      scopes={['workspace', 'global']}
      changeNote={trans.__('The change is written to %1. What is not shown here stays.', toExactText(old?.file ?? ''))}
      submitLabel={old === undefined ? trans.__('Add the skill') : trans.__('Save the skill')}
      onSubmit={getField => onSubmit(readSkill(getField, old))}
      onCancel={onCancel}
    >
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
    </NamedForm>
  );
}

/**
 * Return the skill that the fields of the form describe. `getField` returns the text of the field with a name. `old` is
 * the skill that is changed.
 */
export function readSkill(getField: GetField, old?: SkillEntry): SkillsWriteParams {
  return {
    name: getField('name').trim(),
    description: getField('description').trim(),
    body: getField('body'),
    ...readPlace(getField, old)
  };
}
