/** Everything that a person reads goes through the translator, and its messages can be extracted. */

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import type * as TypeScript from 'typescript';

const ROOT = join(process.cwd(), 'labextension', 'src');
const ts = createRequire(join(process.cwd(), 'package.json'))('typescript') as typeof TypeScript;

/** Properties and attributes that people read. */
const READ = new Set(['textContent', 'innerText', 'title', 'label', 'caption', 'placeholder']);
const READ_ATTRIBUTES = new Set([
  'title',
  'aria-label',
  'aria-valuetext',
  'aria-description',
  'alt'
]);
const SETTERS = new Set(['setText', 'setName', 'tell', 'term']);
const TRANSLATORS = new Set(['__', '_n', '_p', '_np']);

function sources(): TypeScript.SourceFile[] {
  return readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .filter(
      name =>
        name.endsWith('.ts') && !name.endsWith('.d.ts') && name !== join('protocol', 'messages.ts')
    )
    .map(name => parse(name, readFileSync(join(ROOT, name), 'utf8')));
}

function parse(name: string, text: string): TypeScript.SourceFile {
  return ts.createSourceFile(name, text, ts.ScriptTarget.ES2022, true);
}

function called(node: TypeScript.CallExpression): string {
  const { expression } = node;
  if (ts.isPropertyAccessExpression(expression)) {
    return expression.name.text;
  }
  return ts.isIdentifier(expression) ? expression.text : '';
}

/** Words in an expression that no translator sees. */
function bare(node: TypeScript.Node): string[] {
  if (ts.isCallExpression(node) && !ts.isPropertyAccessExpression(node.expression)) {
    return []; // a function of ours, which is looked at itself
  }
  if (ts.isCallExpression(node) && TRANSLATORS.has(called(node))) {
    return [];
  }
  if (
    ts.isStringLiteralLike(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddleOrTemplateTail(node)
  ) {
    return /\p{L}{2,}/u.test(node.text) ? [node.text] : [];
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.getText().endsWith('==')) {
    return []; // a comparison shows nothing
  }
  if (ts.isConditionalExpression(node)) {
    return [...bare(node.whenTrue), ...bare(node.whenFalse)];
  }
  const found: string[] = [];
  ts.forEachChild(node, part => {
    found.push(...bare(part));
  });
  return found;
}

/** The expressions of a file that become text for people. */
function shown(node: TypeScript.Node): TypeScript.Node[] {
  const found: TypeScript.Node[] = [];
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
    if (ts.isPropertyAccessExpression(node.left) && READ.has(node.left.name.text)) {
      found.push(node.right);
    }
  } else if (ts.isPropertyAssignment(node) && READ.has(node.name.getText())) {
    found.push(node.initializer);
  } else if (ts.isCallExpression(node)) {
    const [first, second] = node.arguments;
    if (called(node) === 'setAttribute' && first !== undefined && ts.isStringLiteral(first)) {
      if (READ_ATTRIBUTES.has(first.text) && second !== undefined) {
        found.push(second);
      }
    } else if (called(node) === 'tell' && first !== undefined) {
      found.push(first);
    } else if (SETTERS.has(called(node)) && second !== undefined) {
      found.push(second);
    }
  }
  ts.forEachChild(node, part => {
    found.push(...shown(part));
  });
  return found;
}

function untranslated(file: TypeScript.SourceFile): string[] {
  return shown(file).flatMap(node => bare(node).map(text => `${file.fileName}: ${text}`));
}

test('no words reach the page untranslated', () => {
  assert.deepEqual(sources().flatMap(untranslated), []);
});

test('what the search is for, it finds', () => {
  const text = `
    node.textContent = 'Plain';
    setName(button, busy ? 'Stop it' : trans.__('Go'));
    node.setAttribute('aria-label', \`Worker \${n}\`);
    commands.addCommand(id, { label: 'Open' });
    setText(node, trans.__('Fine')); node.setAttribute('role', 'button');`;
  const found = untranslated(parse('x.ts', text)).map(line => line.split(': ')[1]?.trim());
  assert.deepEqual(found, ['Plain', 'Stop it', 'Worker', 'Open']);
});

test('every message can be extracted: it is a literal where it is translated', () => {
  const wrong: string[] = [];
  let messages = 0;
  const visit = (file: TypeScript.SourceFile, node: TypeScript.Node): void => {
    if (
      ts.isCallExpression(node) &&
      TRANSLATORS.has(called(node)) &&
      ts.isPropertyAccessExpression(node.expression)
    ) {
      messages++;
      const wanted = called(node) === '_n' ? 2 : 1;
      if (!node.arguments.slice(0, wanted).every(literal)) {
        wrong.push(`${file.fileName}: ${node.getText()}`);
      }
    }
    ts.forEachChild(node, part => visit(file, part));
  };
  for (const file of sources()) {
    visit(file, file);
  }
  assert.deepEqual(wrong, []);
  assert.ok(messages > 40, `only ${messages} messages`);
});

/** A string, or strings put together for the line's length. */
function literal(node: TypeScript.Node): boolean {
  return (
    ts.isStringLiteralLike(node) ||
    (ts.isBinaryExpression(node) && literal(node.left) && literal(node.right))
  );
}
