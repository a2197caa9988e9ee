/** The rules of ESLint: types are checked strictly, and texts that users see are translated. */

import { defineConfig, globalIgnores } from 'eslint/config';
import { configs } from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['lib']),
  {
    files: ['src/**/*.{ts,tsx}', 'test/**/*.{ts,tsx}'],
    extends: [configs.strictTypeChecked, configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: 'test/tsconfig.json' } },
    rules: {
      // A result of `void` makes a method a notification, in the generated tables and in the types made from them.
      '@typescript-eslint/no-invalid-void-type': 'off'
    }
  },
  {
    files: ['src/**/*.tsx'],
    rules: {
      // Text that users see goes through the translator.
      'no-restricted-syntax': [
        'error',
        {
          selector: ':not(JSXElement[openingElement.name.name=/^(code|kbd)$/]) > JSXText[value=/\\p{L}{2,}/u]',
          message: 'Text that users see goes through the translator: trans.__(…).'
        },
        {
          selector:
            'JSXAttribute[name.name=/^(title|placeholder|alt|label|aria-label|aria-description)$/] > Literal[value=/\\p{L}{2,}/u]',
          message: 'Text that users see goes through the translator: trans.__(…).'
        }
      ]
    }
  }
);
