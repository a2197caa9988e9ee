/**
 * Shows the report of the server in the settings: what is set up, what is missing, and what the user can do about it.
 * `%eca doctor` shows the same text.
 *
 * The server writes the report as Markdown. This view requests it once.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { useEnv } from '../view/common/env';
import { Markdown } from '../view/common/Markdown';

/** Draws the report. `fetchReport` asks the server for its text. */
export function Report({ fetchReport }: { readonly fetchReport: () => Promise<string> }): React.ReactElement {
  const { trans } = useEnv();
  const [text, setText] = React.useState<string>();
  // Each drawing of the settings passes a new function. Only the first is called, so that the report is requested once.
  const firstFetch = React.useRef(fetchReport);
  React.useEffect(() => {
    void firstFetch.current().then(setText);
  }, []);
  if (text === undefined) {
    return <p className="eca-Note">{trans.__('Loading…')}</p>;
  }
  // The headings of the report have the third level, as in a chat. On this page they need the second level.
  return <Markdown text={text.replace(/^### /gm, '## ')} />;
}
