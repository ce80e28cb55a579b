import { expect, test } from 'vitest';
import { inProcess } from '../fleetgc.ts';
import { NO_BROKER, readiness } from '../service-options.ts';
import { startVerb } from '../service-process.ts';

test.concurrent('without a broker a service lives, is not ready, says why, and stops in order', async () => {
  const running = startVerb('image-gc', ...NO_BROKER);
  const { text } = await readiness(running, { status: 503, says: 'ECONNREFUSED' });

  expect(text).toMatch(/^\[-\] event log: Kafka at 127\.0\.0\.1:9: .*\n\[-\] policies: /);
  expect((await running.get('/livez')).status).toBe(200);
  expect(await running.terminate()).toBe(0);
});

test.concurrent('without a broker a task ends with one clear sentence', async () => {
  const { exitCode, stdout, stderr } = await inProcess(['policy', 'list', ...NO_BROKER]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(
    /^(Waiting for Kafka at 127\.0\.0\.1:9 …\n)*fleetgc policy list: Kafka at 127\.0\.0\.1:9: .*ECONNREFUSED.*\. Check that the brokers run.*\n$/,
  );
});
