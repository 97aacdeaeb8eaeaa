// The plugin as TypeScript sees it, checked, and the problems that were found, each with its place.

import { realpathSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The SDK's sources, as TypeScript names its files. */
const SDK = realpathSync(fileURLToPath(new URL("../src", import.meta.url)));

/** Options that make files, or make no sense without. */
const EMITTING = [
  "composite", "declaration", "declarationMap", "emitDeclarationOnly", "incremental", "isolatedDeclarations", "tsBuildInfoFile",
];

export class Program {
  /** Lines for the author. */
  problems = [];

  constructor(ts, folder, main) {
    this.ts = ts;
    this.folder = folder;
    const { options, declarations } = this.#configured(main);
    // The main module and what it imports. Tests beside it need types that a plugin does not have.
    this.program = ts.createProgram([main, ...declarations], options);
    this.checker = this.program.getTypeChecker();
    this.#add(ts.getPreEmitDiagnostics(this.program));
  }

  /** The author's own modules in TypeScript. */
  get modules() {
    const { program } = this;
    const isTyped = ({ fileName, isDeclarationFile }) => /\.[cm]?tsx?$/.test(fileName) && !isDeclarationFile;
    return program.getSourceFiles().filter((file) => isTyped(file) && !program.isSourceFileFromExternalLibrary(file));
  }

  /** Whether a symbol is the author's own, rather than that of a package. */
  isOwn(symbol) {
    return this.#isDeclaredIn(symbol, (file) => this.modules.includes(file));
  }

  /** Whether a symbol is one of the SDK's own. */
  isOfSdk(symbol) {
    return this.#isDeclaredIn(symbol, (file) => file.fileName.startsWith(SDK));
  }

  /** Whether a symbol is one of the language's own library. */
  isOfLibrary(symbol) {
    return this.#isDeclaredIn(symbol, (file) => this.program.isSourceFileDefaultLibrary(file));
  }

  /** Adds a problem at a node. */
  problem(node, text) {
    this.#addAt(node.getSourceFile(), node.getStart(), text);
  }

  #isDeclaredIn(symbol, isIn) {
    return symbol?.declarations?.some((declaration) => isIn(declaration.getSourceFile())) ?? false;
  }

  /** The options and declarations of the author's tsconfig.json, or the strict options of the template. */
  #configured(main) {
    const { ts } = this;
    const file = ts.findConfigFile(dirname(main), ts.sys.fileExists);
    const ours = {
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      // JavaScript may lie between modules with types.
      allowJs: true,
      // From everywhere the same SDK, as in the bundle.
      paths: { "portcullis-guest": [`${SDK}/index.d.ts`], "portcullis-guest/testing": [`${SDK}/testing.d.ts`] },
      ...Object.fromEntries(EMITTING.map((option) => [option, undefined])),
    };
    if (!file) {
      const options = { strict: true, target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext };
      return { options: { ...options, moduleResolution: ts.ModuleResolutionKind.Bundler, ...ours }, declarations: [] };
    }
    const read = ts.readConfigFile(file, ts.sys.readFile);
    const parsed = read.error
      ? { options: {}, fileNames: [], errors: [read.error] }
      : ts.parseJsonConfigFileContent(read.config, ts.sys, dirname(file));
    // Which files there are besides does not matter.
    const noFiles = [18002, 18003];
    this.#add(parsed.errors.filter(({ code }) => !noFiles.includes(code)));
    const options = { ...parsed.options, ...ours, paths: { ...parsed.options.paths, ...ours.paths } };
    return { options, declarations: parsed.fileNames.filter((name) => /\.d\.[cm]?ts$/.test(name)) };
  }

  #add(diagnostics) {
    for (const { file, start, messageText, code, category } of diagnostics) {
      if (category !== this.ts.DiagnosticCategory.Error) {
        continue;
      }
      const text = `${this.ts.flattenDiagnosticMessageText(messageText, "\n")} (TS${code})`;
      if (file) {
        this.#addAt(file, start, text);
      } else {
        this.problems.push(text);
      }
    }
  }

  #addAt(file, start, text) {
    const { line, character } = file.getLineAndCharacterOfPosition(start);
    // A type that several tools use has its problems once.
    const problem = `${relative(this.folder, file.fileName)}:${line + 1}:${character + 1}: ${text}`;
    if (!this.problems.includes(problem)) {
      this.problems.push(problem);
    }
  }
}
