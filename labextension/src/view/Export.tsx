/**
 * Asks for the format in which a chat is exported.
 *
 * `App.tsx` sends the choice as the command `/export`. The server writes the file, and its answer in the chat says
 * where the file is.
 */

import * as React from 'react';

import { Choices } from './common/Choices';
import { createElement } from './common/element';
import { useEnv } from './common/env';

interface Props {
  /** Called with the suffix of the file; undefined when the user cancels. */
  readonly onChoose: (suffix: '.md' | '.ipynb' | undefined) => void;
}

/** The question, with a button for each format. */
export function Export({ onChoose }: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <Choices
      className="eca-Export"
      label={trans.__('Export this chat')}
      question={trans.__('Export this chat as:')}
      choices={[
        [trans.__('Markdown'), '.md'],
        [trans.__('Notebook'), '.ipynb']
      ]}
      onChoose={onChoose}
    />
  );
}
