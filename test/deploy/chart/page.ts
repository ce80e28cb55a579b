import { codeBlocks } from '../../docs/markdown.ts';
import { textOf } from '../files.ts';

const page = textOf('docs/operating/install.md');
const policiesPage = textOf('docs/operating/policies-in-kubernetes.md');
const section = page.slice(page.indexOf('### In Kubernetes'), page.indexOf('### With systemd'));
const [main = '', more = ''] = section.split('#### What the chart does');

const CONTINUED = / *\\\n\s*/g;
const commandsIn = (text: string): readonly string[] =>
  [...text.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)].flatMap(([, language, block = '']) =>
    language === ''
      ? block
          .replace(CONTINUED, ' ')
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '')
      : [],
  );

/** What the page has somebody type who installs, upgrades, goes back and uninstalls, in its order. */
export const COMMANDS = commandsIn(main);
/** What it has them type for another signing key. */
export const KEY_COMMANDS = commandsIn(more);
const [settings = '', passwords = ''] = codeBlocks(main, 'yaml');
/** What it has them write into `fleetgc.yaml`: the settings, and those of TLS and passwords. */
export const FILES = { settings, passwords };
/** What an administrator of Kafka types first with `--dry-run`, and then without it. */
export const RULES_COMMAND = commandsIn(page).find((command) => /^fleetgc topics acls /.test(command)) ?? '';

/** What the page about policies in Kubernetes has somebody type, in its order: what follows a prompt. */
export const POLICY_COMMANDS = commandsIn(policiesPage).flatMap((line) =>
  line.startsWith('$ ') ? [line.slice(2)] : [],
);
/** The policy that it has them write. */
export const [POLICY_OBJECT = ''] = codeBlocks(policiesPage, 'yaml');
