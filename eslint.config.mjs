import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      'labextension/lib/**',
      'labextension/webpack.config.cjs',
      'kernel_runtime/**',
      'node_modules/**',
      'build/**',
      '.venv/**'
    ]
  },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname }
    },
    rules: {
      eqeqeq: 'error',
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // Lumino's signals take the method and its `this` apart.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }]
    }
  },
  {
    files: ['labextension/tests/**'],
    rules: { '@typescript-eslint/no-floating-promises': 'off' }
  }
);
