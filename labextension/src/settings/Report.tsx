/**
 * The section of the settings with the server's report: what is set up, what is missing, and what to do about it. It is
 * the text that `%eca doctor` shows.
 *
 * The server writes the report as Markdown. This view requests it once.
 */

import * as React from 'react';

import { useEnv } from '../view/common/env';
import { Markdown } from '../view/common/Markdown';

/** `report` fetches the text. */
export function Report({ report }: { readonly report: () => Promise<string> }): React.ReactElement {
  const { trans } = useEnv();
  const [text, setText] = React.useState<string>();
  // The function is another one at each drawing. Only the first is called.
  const first = React.useRef(report);
  React.useEffect(() => {
    void first.current().then(setText);
  }, []);
  if (text === undefined) {
    return <p className="eca-Note">{trans.__('Loading…')}</p>;
  }
  // The headings of the report are of the third level, as in a chat. Here they are right below the one of the page.
  return <Markdown text={text.replace(/^### /gm, '## ')} />;
}
