import { describe, expect, test } from 'vitest';
import { proxyOfEnvironment } from '../../../packages/kube-api/proxy.ts';

const PROXY = 'http://proxy:3128';
const proxied = (server: string, environment: Readonly<Record<string, string>>): string | null =>
  proxyOfEnvironment(new URL(server), environment);

describe('a proxy of the environment', () => {
  test('is for the protocol of the server, in large letters or small ones', () => {
    const both = { HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://other:1' };
    expect(proxied('https://api:6443', both)).toBe(PROXY);
    expect(proxied('http://api:8001', both)).toBe('http://other:1');
    expect(proxied('https://api', { https_proxy: PROXY })).toBe(PROXY);
    expect(proxied('https://api', { HTTP_PROXY: PROXY })).toBeNull();
    expect(proxied('https://api', { HTTPS_PROXY: '' })).toBeNull();
    expect(proxied('https://api', { HTTPS_PROXY: 'proxy:3128' })).toBe(PROXY);
  });

  test.each(['https://localhost:6443', 'https://127.0.0.1', 'https://127.9.9.9', 'https://[::1]:6443'])(
    'is never for this machine: %s',
    (server) => {
      expect(proxied(server, { HTTPS_PROXY: PROXY })).toBeNull();
    },
  );

  test.each([
    ['*', 'https://api.example.com', true],
    ['example.com', 'https://example.com', true],
    ['example.com', 'https://api.EXAMPLE.com', true],
    ['example.com', 'https://notexample.com', false],
    ['.example.com', 'https://api.example.com', true],
    ['.example.com', 'https://example.com', false],
    ['*.example.com', 'https://api.example.com', true],
    ['example.com:6443', 'https://example.com:6443', true],
    ['example.com:443', 'https://example.com', true],
    ['example.com:443', 'https://example.com:6443', false],
    ['10.0.0.0/8', 'https://10.96.0.1', true],
    ['10.0.0.0/8', 'https://11.0.0.1', false],
    ['10.0.0.0/8', 'https://ten.example.com', false],
    ['fd00::/8', 'https://[fd00::1]:443', true],
    ['fd00::1', 'https://[fd00::1]:443', true],
    ['[fd00::1]:443', 'https://[fd00::1]:443', true],
    ['10.0.0.0/33', 'https://10.0.0.1', false],
    ['10.0.0.1', 'https://10.0.0.1:6443', true],
    ['other, example.com ', 'https://example.com', true],
    ['', 'https://example.com', false],
    ['.', 'https://example.com', false],
  ])('NO_PROXY %j, %s: direct is %s', (noProxy, server, isDirect) => {
    expect(proxied(server, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy })).toBe(isDirect ? null : PROXY);
  });

  test('that cannot be used is refused without its password', () => {
    expect(() => proxied('https://api', { HTTPS_PROXY: 'socks5://u:password@proxy:1080' })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.not.stringContaining('password') }),
    );
  });
});
