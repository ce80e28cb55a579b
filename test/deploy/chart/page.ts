import { codeBlocks } from '../../docs/markdown.ts';
import { textOf } from '../files.ts';

const page = textOf('docs/operating/install.md');
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
