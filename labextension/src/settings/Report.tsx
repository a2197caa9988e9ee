/**
 * The report of the server on its set-up: what is there, what is missing, what to do about it.
 *
 * The server writes it as Markdown.
 */

import * as React from 'react';

import { useEnv } from '../view/common/env';
import { Markdown } from '../view/common/Markdown';

export function Report({ report }: { readonly report: () => Promise<string> }): React.ReactElement {
  const { trans } = useEnv();
  const [text, setText] = React.useState<string>();
  const ask = React.useRef(report);
  React.useEffect(() => {
    void ask.current().then(setText);
  }, []);
  return text === undefined ? <p className="eca-Note">{trans.__('Loading…')}</p> : <Markdown text={text} />;
}
