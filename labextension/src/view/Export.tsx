/** The chat as a file: which kind of one. The server writes it, and tells in the chat where it is. */

import * as React from 'react';

import { Choices } from './common/Choices';
import { useEnv } from './common/env';

interface Props {
  /** Undefined is "not at all". */
  readonly onChoose: (suffix: '.md' | '.ipynb' | undefined) => void;
}

export function Export({ onChoose }: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <Choices
      className="eca-Export"
      label={trans.__('Export this chat')}
      line={trans.__('Export this chat as:')}
      choices={[
        [trans.__('Markdown'), '.md'],
        [trans.__('Notebook'), '.ipynb']
      ]}
      onChoose={onChoose}
    />
  );
}
