import { run } from './command.ts';
import { say } from './progress.ts';

const FIRST_ANSWER_MS = 15_000;
const WHOLE_PULL_MS = 600_000;

let registryAnswers = true;

/** Pulls a public image. After the first failure no further one is tried in this process. */
export async function tryToPull(image: string): Promise<boolean> {
  if (!registryAnswers) return false;
  say(`pulling ${image} …`);
  const failure = await pull(image);
  registryAnswers = failure === null;
  if (failure !== null) say(`no registry gives ${image}; building a stand-in (${failure})`);
  return registryAnswers;
}

/** Why it could not be pulled, in a few words; null when it was. A registry that says nothing for 15 s is given up. */
async function pull(image: string): Promise<string | null> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), FIRST_ANSWER_MS);
  const onOutput = (text: string): void => {
    if (text.includes('Pulling from')) clearTimeout(timer);
  };
  try {
    await run('docker', ['pull', image], { usualMs: WHOLE_PULL_MS, signal: silence.signal, onOutput });
    return null;
  } catch (error) {
    if (silence.signal.aborted) return `silent for ${FIRST_ANSWER_MS / 1000} s`;
    return String(error).trimEnd().split('\n').at(-1) ?? '';
  } finally {
    clearTimeout(timer);
  }
}
