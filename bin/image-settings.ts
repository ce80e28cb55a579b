import { readFile } from 'node:fs/promises';
import { z } from 'zod';

const Words = z.array(z.string());
const NS_OF_A_SECOND = 1_000_000_000;
/** What every image of Debian has. */
const SEARCH_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The settings of the last stage of a Dockerfile, as the configuration of an image has them. Throws where one is missing. */
export async function imageSettings(dockerfile: string): Promise<object> {
  const text = (await readFile(dockerfile, 'utf8')).replaceAll(/^#.*\n/gm, '').replaceAll('\\\n', ' ');
  const stage = text.slice(text.lastIndexOf('\nFROM '));
  const health = /^HEALTHCHECK +(.*?) +CMD (.*)$/m.exec(stage);
  if (health === null) throw new Error(`${dockerfile} has no HEALTHCHECK`);
  const [, options = '', command = ''] = health;
  return {
    User: only(stage, 'USER'),
    WorkingDir: only(stage, 'WORKDIR'),
    Env: [SEARCH_PATH, ...every(stage, 'ENV')],
    Entrypoint: words(only(stage, 'ENTRYPOINT')),
    Cmd: words(only(stage, 'CMD')),
    Labels: Object.fromEntries(
      [...only(stage, 'LABEL').matchAll(/([\w.]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    ),
    Healthcheck: {
      Test: ['CMD', ...words(command)],
      Interval: nanoseconds(options, 'interval'),
      Timeout: nanoseconds(options, 'timeout'),
      StartPeriod: nanoseconds(options, 'start-period'),
      Retries: Number(optionOf(options, 'retries')),
    },
  };
}

const every = (stage: string, instruction: string): readonly string[] =>
  [...stage.matchAll(new RegExp(`^${instruction} +(.*)$`, 'gm'))].map(([, rest = '']) => rest.trim());

function only(stage: string, instruction: string): string {
  const [found, ...more] = every(stage, instruction);
  if (found === undefined || more.length > 0)
    throw new Error(`one ${instruction} is expected in the last stage`);
  return found;
}

const words = (text: string): readonly string[] => Words.parse(JSON.parse(text));

function optionOf(options: string, name: string): string {
  const [, value] = new RegExp(`--${name}=(\\S+)`).exec(options) ?? [];
  if (value === undefined) throw new Error(`the health check has no --${name}`);
  return value;
}

const nanoseconds = (options: string, name: string): number =>
  Number(/^(\d+)s$/.exec(optionOf(options, name))?.[1]) * NS_OF_A_SECOND;
