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
    files: ['src/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-syntax': [
        'error',
        // The places of texts that users see, when they contain a literal word (two letters in a row): the content of
        // an element, an attribute in JSX, a property of an element, an attribute set by a call, and a label of Lab.
        ...[
          ':not(JSXElement[openingElement.name.name=/^(code|kbd)$/]) > JSXText[value=/\\p{L}{2,}/u]',
          'JSXAttribute[name.name=/^(title|placeholder|alt|label|aria-label|aria-description)$/] > Literal[value=/\\p{L}{2,}/u]',
          'AssignmentExpression[left.property.name=/^(textContent|innerText|title|placeholder|label|caption)$/] > Literal.right[value=/\\p{L}{2,}/u]',
          'CallExpression[callee.property.name=setAttribute][arguments.0.value=/^(title|placeholder|alt|aria-label|aria-description)$/] > Literal:nth-child(2)[value=/\\p{L}{2,}/u]',
          'Property[key.name=/^(label|caption)$/] > Literal.value[value=/\\p{L}{2,}/u]'
        ].map(selector => ({ selector, message: 'Text that users see goes through the translator: trans.__(…).' })),
        // Texts that are passed to the translator and are no literals. `_n` has two: the singular and the plural.
        ...[
          'CallExpression[callee.property.name=/^(__|_n)$/] > :not(Literal):nth-child(1)',
          'CallExpression[callee.property.name=_n] > :not(Literal):nth-child(2)'
        ].map(selector => ({ selector, message: 'A tool collects the texts for translators: they must be literals.' }))
      ]
    }
  }
);
