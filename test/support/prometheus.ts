import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { freePort } from './container.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { ensurePrometheus } from './toolchain/promtool.ts';
import { waitUntil } from './wait-until.ts';

const READY_MS = 20_000;

const Answer = z.union([
  z.object({ status: z.literal('success'), data: z.object({ result: z.array(z.unknown()) }) }),
  z.object({ status: z.literal('error'), error: z.string() }),
]);
const Rules = z.object({
  data: z.object({
    groups: z.array(
      z.object({
        rules: z.array(z.object({ name: z.string(), health: z.string(), lastError: z.string().optional() })),
      }),
    ),
  }),
});

export interface Prometheus {
  /** How many series an expression has now; throws what is wrong with it. */
  series(expression: string): Promise<number>;
  /** Every rule, whether it was evaluated (`ok`), and what went wrong. */
  rules(): Promise<readonly z.infer<typeof Rules>['data']['groups'][number]['rules'][number][]>;
}

export interface Scraping {
  readonly targets: readonly string[];
  readonly ruleFiles: readonly string[];
}

/** A real one on loopback that ends with the test. It scrapes and evaluates each second. */
export async function startPrometheus({ targets, ruleFiles }: Scraping): Promise<Prometheus> {
  const directory = temporaryDirectory();
  const file = join(directory, 'prometheus.yaml');
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ruleFiles,
    scrape_configs: [{ job_name: 'fleetgc', static_configs: [{ targets }] }],
  };
  writeFileSync(file, stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const options = [`--config.file=${file}`, `--storage.tsdb.path=${join(directory, 'data')}`];
  const child = spawn(await ensurePrometheus(), [...options, `--web.listen-address=${address}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-10_000);
  });
  const get = (path: string) => fetch(`http://${address}${path}`);
  const isReady = async () => (await get('/-/ready').catch(() => null))?.ok === true;
  await waitUntil('Prometheus to be ready', READY_MS, isReady).catch((cause: unknown) => {
    throw new Error(`Prometheus does not start: ${said}`, { cause });
  });
  return {
    series: async (expression) => {
      const answer = await get(`/api/v1/query?query=${encodeURIComponent(expression)}`);
      const parsed = Answer.parse(await answer.json());
      if (parsed.status === 'error') throw new Error(`${expression}: ${parsed.error}`);
      return parsed.data.result.length;
    },
    rules: async () =>
      Rules.parse(await (await get('/api/v1/rules')).json()).data.groups.flatMap(({ rules }) => rules),
  };
}
