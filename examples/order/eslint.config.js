import convex from "@convex-dev/eslint-plugin";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

// Nothing here is about `convex/_workflows`: generated code is held to the rules of the app.
export default defineConfig([
  globalIgnores(["convex/_generated"]),
  tseslint.configs.recommended,
  convex.configs.recommended,
  // Some of Convex's rules ask for types.
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
  },
]);
