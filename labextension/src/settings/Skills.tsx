/**
 * Shows the skills in the settings. A skill is a file with instructions for one kind of work, which the model loads
 * when they fit. Each skill is shown with its file. The user can add skills, see what the model gets, and change or
 * delete their own ones.
 *
 * The server writes the files. `SkillForm.tsx` draws the form for a skill that is added or changed.
 */

import * as React from 'react';

import { SkillEntry, SkillsListResult } from '../wire/protocol';
import { Session } from '../chat/session';
import { toExactText, toPlainText } from '../render/format';
import { useEnv } from '../view/common/env';
import { describeError } from '../view/common/error_text';
import { TextWithCode } from '../view/common/TextWithCode';
import { Toggle } from '../view/common/Toggle';
import { FileLink } from './FileLink';
import { SkillForm } from './SkillForm';

/** Fetches the skills and shows them, and sends what the user adds, changes or deletes. */
export function Skills({ session }: { readonly session: Session }): React.ReactElement {
  const { trans, ownFiles } = useEnv();
  const [list, setList] = React.useState<SkillsListResult>();
  /** The skill whose form is open, or `new`; undefined when no form is open. */
  const [edited, setEdited] = React.useState<SkillEntry | 'new'>();
  /** A sentence about the last change that the user has made here; empty when there was none. */
  const [lastAction, setLastAction] = React.useState('');
  const reload = React.useCallback(async () => {
    setList(await session.requestOrShowError('skills/list', {}));
  }, [session]);
  React.useEffect(() => {
    void reload();
    return ownFiles?.subscribe(() => void reload());
  }, [reload, ownFiles]);
  if (list === undefined) {
    return <p className="eca-Note">{trans.__('Loading…')}</p>;
  }
  // `old`: the skill that is changed; undefined for a new one.
  const drawForm = (old?: SkillEntry): React.ReactElement => (
    <SkillForm
      {...(old && { old })}
      onSubmit={async params => {
        try {
          const { file } = await session.request('skills/write', params);
          setLastAction(trans.__('The skill was written to %1.', file));
        } catch (error) {
          return describeError(error, trans);
        }
        setEdited(undefined);
        await reload();
        return '';
      }}
      onCancel={() => {
        setEdited(undefined);
      }}
    />
  );
  return (
    <>
      <p className="eca-Note">
        {trans.__(
          'A skill is a text with instructions for one kind of work. The assistant reads it when its description fits your question. You can also type its name after a slash.'
        )}
      </p>
      {edited === 'new' ? (
        drawForm()
      ) : (
        <button
          type="button"
          className="eca-Button eca-mod-main"
          onClick={() => {
            setLastAction('');
            setEdited('new');
          }}
        >
          {trans.__('Add a skill…')}
        </button>
      )}
      <p className="eca-Note" role="status">
        {lastAction}
      </p>
      <ul className="eca-Cards" aria-label={trans.__('Skills')}>
        {list.skills.map(skill => (
          <SkillCard
            key={skill.file}
            skill={skill}
            readPreview={async () => (await session.requestOrShowError('skills/preview', { name: skill.name }))?.text}
            onEdit={() => {
              setLastAction('');
              setEdited(skill);
            }}
            onDelete={async digest => {
              const deleted = await session.requestOrShowError('skills/remove', { file: skill.file, digest });
              setLastAction(deleted === undefined ? '' : trans.__('The skill %1 was deleted.', skill.name));
              await reload();
            }}
          >
            {edited === skill ? drawForm(skill) : undefined}
          </SkillCard>
        ))}
      </ul>
    </>
  );
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
  /** Whether the user has pressed *Delete* once. The second press deletes the file. */
  const [isConfirming, setConfirming] = React.useState(false);
  /** Whether the text that the model is given is shown. */
  const [hasPreview, setPreview] = React.useState(false);
  const origins = {
    builtIn: trans.__('built in'),
    user: trans.__('yours'),
    project: trans.__('of this workspace'),
    configuration: trans.__('in the configuration')
  };
  const isUsed = error === undefined && !isOverridden;
  return (
    <li className="eca-Card" aria-label={name}>
      <div className="eca-Card-head">
        <strong dir="auto">{name}</strong>
        <span className="eca-Badge">{origins[origin]}</span>
      </div>
      {description !== '' && <p dir="auto">{toPlainText(description)}</p>}
      {origin !== 'builtIn' && (
        <span>
          <FileLink file={file} />
        </span>
      )}
      {error !== undefined && (
        <p className="eca-Trouble" dir="auto">
          <TextWithCode text={trans.__('This file is not used: %1.', toPlainText(error))} />
        </p>
      )}
      {isOverridden && (
        <p className="eca-Note">{trans.__('It is not used: another skill of the same name comes before it.')}</p>
      )}
      {children ?? (
        <div className="eca-Card-actions">
          {isUsed && (
            <Toggle
              open={hasPreview}
              onClick={() => {
                setPreview(!hasPreview);
              }}
            >
              {trans.__('What the model gets')}
            </Toggle>
          )}
          {digest !== undefined && error === undefined && (
            <button
              type="button"
              className="eca-Button"
              aria-label={trans.__('Edit the skill %1', name)}
              onClick={onEdit}
            >
              {trans.__('Edit…')}
            </button>
          )}
          {digest !== undefined && (
            <button
              type="button"
              className="eca-Button eca-mod-danger"
              title={trans.__('Delete the file %1', file)}
              onClick={() => {
                if (isConfirming) {
                  void onDelete(digest);
                }
                setConfirming(!isConfirming);
              }}
            >
              {isConfirming ? trans.__('Delete the file permanently') : trans.__('Delete')}
            </button>
          )}
          {isConfirming && (
            <button
              type="button"
              className="eca-Button"
              onClick={() => {
                setConfirming(false);
              }}
            >
              {trans.__('Cancel')}
            </button>
          )}
        </div>
      )}
      {hasPreview && isUsed && children === undefined && (
        // A file that was changed is read again.
        <SkillPreview key={digest} name={name} readPreview={readPreview} />
      )}
    </li>
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
