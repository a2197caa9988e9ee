import { defineConfig, globalIgnores } from 'eslint/config';
import { configs } from 'typescript-eslint';

export default defineConfig(globalIgnores(['lib']), {
  files: ['src/**/*.{ts,tsx}', 'test/**/*.{ts,tsx}'],
  extends: [configs.strictTypeChecked, configs.stylisticTypeChecked],
  languageOptions: { parserOptions: { project: 'test/tsconfig.json' } },
  rules: {
    // `void` is what makes a method a notification, in the generated tables and in what is said of them.
    '@typescript-eslint/no-invalid-void-type': 'off'
  }
});
