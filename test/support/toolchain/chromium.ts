import { canInstall, install } from './apt.ts';
import { succeeds } from './command.ts';

const QUICK_MS = 30_000;
const PROGRAM = '/usr/bin/chromium';

/** The path of Chromium: one that is installed, or Debian's. Its package needs too many others to be taken apart. */
export async function ensureChromium(): Promise<string> {
  if (await succeeds(PROGRAM, ['--version'], QUICK_MS)) return PROGRAM;
  if (!canInstall()) throw new Error(`the dashboard is looked at with Chromium: install it as ${PROGRAM}`);
  await install(['chromium']);
  if (await succeeds(PROGRAM, ['--version'], QUICK_MS)) return PROGRAM;
  throw new Error(`${PROGRAM} does not run here`);
}
