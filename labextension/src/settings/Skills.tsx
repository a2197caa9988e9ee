/**
 * Shows the skills in the settings. A skill is a file with instructions for one kind of work, which the model loads
 * when they fit. Each skill is shown with its file. The user can add skills, see what the model gets, and change or
 * delete their own ones.
 *
 * `OwnFilesList.tsx` draws the list, and `SkillForm.tsx` the form for a skill that is added or changed.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { SkillEntry } from '../wire/protocol';
import { Session } from '../chat/session';
import { toExactText } from '../render/format';
import { useEnv } from '../view/common/env';
import { Toggle } from '../view/common/Toggle';
import { OwnFileCard, OwnFilesList, OwnFilesListing } from './OwnFilesList';
import { SkillForm } from './SkillForm';

/** Fetches the skills and shows them, and sends what the user adds, changes or deletes. */
export function Skills({ session }: { readonly session: Session }): React.ReactElement {
  const { trans } = useEnv();
  return (
    <OwnFilesList
      session={session}
      intro={trans.__(
        'A skill is a text with instructions for one kind of work. The assistant reads it when its description fits your question. You can also type its name after a slash.'
      )}
      addLabel={trans.__('Add a skill…')}
      listLabel={trans.__('Skills')}
      fetchListing={fetchSkills}
      drawForm={({ submit, cancel }, old) => (
        <SkillForm
          {...(old && { old })}
          onSubmit={params =>
            submit(async () => {
              const { file } = await session.request('skills/write', params);
              return trans.__('The skill was written to %1.', file);
            })
          }
          onCancel={cancel}
        />
      )}
      drawCard={(skill, { form, edit, change }) => (
        <SkillCard
          key={skill.file}
          skill={skill}
          readPreview={async () => (await session.requestOrShowError('skills/preview', { name: skill.name }))?.text}
          onEdit={edit}
          onDelete={digest =>
            change(async () => {
              const deleted = await session.requestOrShowError('skills/remove', { file: skill.file, digest });
              return deleted === undefined ? '' : trans.__('The skill %1 was deleted.', skill.name);
            })
          }
        >
          {form}
        </SkillCard>
      )}
    />
  );
}

/** Fetch the skills; undefined if that failed. */
async function fetchSkills(session: Session): Promise<OwnFilesListing<SkillEntry> | undefined> {
  const result = await session.requestOrShowError('skills/list', {});
  return result && { entries: result.skills };
}

interface CardProps {
  readonly skill: SkillEntry;
  /** Fetches the text that the model is given; undefined if that failed. */
  readonly readPreview: () => Promise<string | undefined>;
  /** Opens the form of the skill. */
  readonly onEdit: () => void;
  /** Deletes the file of the skill, if its content still has this digest. */
  readonly onDelete: (digest: string) => Promise<void>;
  /** The form, while it is open. */
  readonly children?: React.ReactNode;
}

/** Draws the card of one skill. All skills can be changed and deleted, except those of the package. */
export function SkillCard({ skill, readPreview, onEdit, onDelete, children }: CardProps): React.ReactElement {
  const { trans } = useEnv();
  const { name, origin, description, file, digest, error, isOverridden } = skill;
  /** Whether the text that the model is given is shown. */
  const [hasPreview, setPreview] = React.useState(false);
  const isUsed = error === undefined && !isOverridden;
  return (
    <OwnFileCard
      name={name}
      origin={origin}
      description={description}
      files={origin === 'builtIn' ? [] : [file]}
      error={error}
      notes={[isOverridden && trans.__('It is not used: another skill of the same name comes before it.')]}
      buttons={
        isUsed && (
          <Toggle
            open={hasPreview}
            onClick={() => {
              setPreview(!hasPreview);
            }}
          >
            {trans.__('What the model gets')}
          </Toggle>
        )
      }
      editLabel={trans.__('Edit the skill %1', name)}
      onEdit={digest !== undefined && error === undefined ? onEdit : undefined}
      deletedFile={digest === undefined ? undefined : file}
      onDelete={() => {
        if (digest !== undefined) {
          void onDelete(digest);
        }
      }}
      form={children}
    >
      {hasPreview && isUsed && children === undefined && (
        // A file that was changed is read again.
        <SkillPreview key={digest} name={name} readPreview={readPreview} />
      )}
    </OwnFileCard>
  );
}

/** Draws the text that the model is given when it loads a skill. The text is fetched once. */
function SkillPreview({
  name,
  readPreview
}: Pick<CardProps, 'readPreview'> & { readonly name: string }): React.ReactElement {
  const { trans } = useEnv();
  const [text, setText] = React.useState<string>();
  // Each time the card is drawn, it passes another function. Only the first one is called.
  const firstRead = React.useRef(readPreview);
  React.useEffect(() => {
    void firstRead.current().then(setText);
  }, []);
  return (
    <div className="eca-Log">
      <pre tabIndex={0} aria-label={trans.__('What the model gets of the skill %1', name)}>
        {text === undefined ? trans.__('Loading…') : toExactText(text)}
      </pre>
    </div>
  );
}
