/** Draws the name of a file in which settings are written, as a link that opens the file where the page can do that. */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { useEnv } from '../view/common/env';

interface Props {
  /** The name that the server uses for the file. */
  readonly file: string;
}

/** Draws the name of one file. */
export function FileLink({ file }: Props): React.ReactElement {
  const { trans, ownFiles } = useEnv();
  const name = <code dir="auto">{file}</code>;
  return ownFiles === undefined ? (
    name
  ) : (
    <button
      type="button"
      className="eca-Link eca-FileLink"
      title={trans.__('Open the file %1', file)}
      onClick={() => {
        ownFiles.open(file);
      }}
    >
      {name}
    </button>
  );
}

/** Draws the names of several files, with commas between them. */
export function FileLinks({ files }: { readonly files: readonly string[] }): React.ReactElement {
  return (
    <span>
      {files.map((file, index) => (
        <React.Fragment key={file}>
          {index > 0 && ', '}
          <FileLink file={file} />
        </React.Fragment>
      ))}
    </span>
  );
}
