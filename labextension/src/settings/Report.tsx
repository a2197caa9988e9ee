/**
 * The section of the settings with the report of the server: what is set up, what is missing, and what to do about it.
 * `%eca doctor` shows the same text.
 *
 * The server writes the report as Markdown. This view requests it once.
 */

import * as React from 'react';

import { useEnv } from '../view/common/env';
import { Markdown } from '../view/common/Markdown';

/** The report. `fetchReport` asks the server for its text. */
export function Report({ fetchReport }: { readonly fetchReport: () => Promise<string> }): React.ReactElement {
  const { trans } = useEnv();
  const [text, setText] = React.useState<string>();
  // Each time the settings are drawn, they pass another function. Only the first one is called.
  const first = React.useRef(fetchReport);
  React.useEffect(() => {
    void first.current().then(setText);
  }, []);
  if (text === undefined) {
    return <p className="eca-Note">{trans.__('Loading…')}</p>;
  }
  // In the report the headings have the third level, as in a chat. Here they are directly below the heading of the
  // page.
  return <Markdown text={text.replace(/^### /gm, '## ')} />;
}
