import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { addressText, listen } from '../../../packages/process/listen.ts';
import { ListenAddress } from '../../../packages/process/options/options.ts';

const newServer = () => {
  const server = createServer((_, response) => response.end('here'));
  onTestFinished(() => {
    server.close();
  });
  return server;
};
const listening = (written: string) => listen(newServer(), ListenAddress.parse(written), 'choose another');

/** Those of this machine, of each family that it has. */
const OWN = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal }) => internal)
  .map(({ address }) => address);

test('[::] is every address of the machine, of both families where it has both', async () => {
  const { host, port } = await listening('[::]:0');
  expect(host).toBe('::');
  expect(OWN).toContain('127.0.0.1');
  for (const own of OWN) {
    const answer = await fetch(`http://${addressText({ host: own, port })}/`);
    expect(await answer.text(), own).toBe('here');
  }
});

test('without IPv6 it is every address of IPv4: the system chooses where no host is named', async () => {
  const asked: unknown[] = [];
  const server = newServer();
  const really = server.listen.bind(server);
  server.listen = (...given: unknown[]) => {
    asked.push(given[0]);
    return really(0, '127.0.0.1', () => server.emit('asked'));
  };
  const taken = new Promise((resolve) => server.once('asked', resolve));
  void listen(server, { host: '::', port: 9640 }, 'choose another');
  await taken;
  expect(asked).toEqual([{ port: 9640 }]);
});

test('one address alone is served where one is named, in brackets or not', async () => {
  const [plain, bracketed] = [await listening('127.0.0.1:0'), await listening('[127.0.0.1]:0')];
  for (const { host, port } of [plain, bracketed]) {
    expect(host).toBe('127.0.0.1');
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here');
  }
});

test('an address that is not of this machine is named as it was written, with what to do', async () => {
  await expect(listening('[2001:db8::1]:9640')).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/^cannot listen on \[2001:db8::1\]:9640 \(E\w+\); choose another$/),
  });
});
