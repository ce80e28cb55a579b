import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../../../support/container.ts';
import { PROGRAM } from '../../../support/program.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const READY_MS = 60_000;

/** One process of the fleet, which can be killed and started again with the same arguments. */
export class Part implements AsyncDisposable {
  readonly name: string;
  readonly #args: readonly string[];
  #child: ChildProcess | null = null;
  #address = '';
  #output = '';

  constructor(name: string, args: readonly string[]) {
    this.name = name;
    this.#args = args;
  }

  /** What it wrote in all its lives. */
  get output(): string {
    return this.#output;
  }

  /** The exit code of its last life; `null` while it lives, or where it was killed. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  async start(): Promise<void> {
    this.#address = `127.0.0.1:${await freePort()}`;
    const child = spawn(PROGRAM, [...this.#args, '--http-address', this.#address], {
      env: { PATH: process.env.PATH ?? '' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
    this.#child = child;
  }

  async startReady(): Promise<void> {
    await this.start();
    await this.ready();
  }

  async ready(): Promise<void> {
    try {
      await waitUntil(`${this.name} to be ready`, READY_MS, async () => (await this.#get('/readyz')).ok);
    } catch (cause) {
      throw new Error(`${this.name} is not ready; it said\n${this.#output.slice(-4_000)}`, { cause });
    }
  }

  async readiness(): Promise<string> {
    return (await this.#get('/readyz?verbose')).text();
  }

  async metrics(): Promise<string> {
    return (await this.#get('/metrics')).text();
  }

  /** As the machine does when its power fails. */
  kill(): Promise<unknown> {
    return this.#end('SIGKILL');
  }

  /** As whoever stops a service does; its exit code. */
  async terminate(): Promise<number | null> {
    await this.#end('SIGTERM');
    return this.exitCode;
  }

  /** It lives and does nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child !== null) await this.kill();
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  #get(path: string): Promise<Response> {
    return fetch(`http://${this.#address}${path}`);
  }
}
