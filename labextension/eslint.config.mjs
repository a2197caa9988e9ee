import { defineConfig, globalIgnores } from 'eslint/config';
import { configs } from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['lib']),
  {
    files: ['src/**/*.{ts,tsx}', 'test/**/*.{ts,tsx}'],
    extends: [configs.strictTypeChecked, configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: 'test/tsconfig.json' } },
    rules: {
      // `void` is what makes a method a notification, in the generated tables and in what is said of them.
      '@typescript-eslint/no-invalid-void-type': 'off'
    }
  },
  {
    files: ['src/**/*.tsx'],
    rules: {
      // What a reader sees goes through the translator.
      'no-restricted-syntax': [
        'error',
        {
          selector: ':not(JSXElement[openingElement.name.name=/^(code|kbd)$/]) > JSXText[value=/\\p{L}{2,}/u]',
          message: 'Words that are shown are translated: trans.__(…).'
        },
        {
          selector:
            'JSXAttribute[name.name=/^(title|placeholder|alt|label|aria-label|aria-description)$/] > Literal[value=/\\p{L}{2,}/u]',
          message: 'Words that are shown are translated: trans.__(…).'
        }
      ]
    }
  }
);
