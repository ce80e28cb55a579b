import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { waitUntil } from '../../test/support/wait-until.ts';

const ATTACH_MS = 10_000;

/** What a Java machine can still reach, in bytes, by its histogram of live objects; asked as `jcmd` asks, which the image lacks. */
export async function heapInUseBytes(pid: number): Promise<number> {
  const socket = await attach(pid);
  // What is cleaned up after the first collection goes with the second.
  await order(socket, HISTOGRAM);
  const told = await order(socket, HISTOGRAM);
  const bytes = /^Total\s+\d+\s+(\d+)/m.exec(told)?.[1];
  if (bytes === undefined) throw new Error(`not understood: ${told.slice(0, 500)}`);
  return Number(bytes);
}

/** Collects all garbage first; `GC.run` would not, where a Java machine is told to collect at its leisure, as Kafka's is. */
const HISTOGRAM = 'GC.class_histogram';

async function attach(pid: number): Promise<string> {
  const inner = /^NSpid:.*?(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  const socket = `/proc/${pid}/root/tmp/.java_pid${inner}`;
  if (existsSync(socket)) return socket;
  writeFileSync(`/proc/${pid}/root/tmp/.attach_pid${inner}`, '');
  process.kill(pid, 'SIGQUIT');
  await waitUntil('the Java machine to listen', ATTACH_MS, () => existsSync(socket));
  return socket;
}

function order(path: string, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    connect(path)
      .setEncoding('utf8')
      .on('data', (text) => {
        answer += text;
      })
      .on('end', () => resolve(answer))
      .on('error', reject)
      .write(`1\0jcmd\0${command}\0\0\0`);
  });
}
