// Plays many settings of the band in many games, on a GPU or on a CPU: the screening behind docs/tuning.md.
//
//     nvcc -O3 -o band band.cu                                          one thread a (setting, game, noise)
//     g++ -x c++ -O3 -fopenmp -o band band.cu                           the same program, a few at a time
//     ./band games.bin settings.bin regrets.bin NOISES
//
// __main__.py writes the two files and reads the third: a float for every (setting, game, noise), noises fastest.
// What it was checked against: README.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include "band.h"

struct Play { int setting, game, noise; size_t memory; };

static void fail(const char* why) { fprintf(stderr, "%s\n", why); exit(1); }

template <class T> std::vector<T> take(FILE* file, size_t n) {
  std::vector<T> found(n);
  if (n && fread(found.data(), sizeof(T), n, file) != n) fail("a file is too short");
  return found;
}
static FILE* open_file(const char* name, const char* mode) {
  FILE* file = fopen(name, mode);
  if (!file) fail(name);
  return file;
}
static size_t room(const Setting& setting, const Game& game) {
  return Band::up(Band::bytes(game.K, setting) + 8 * (size_t)game.K);
}

#ifdef __CUDACC__
static void sure(cudaError_t error) { if (error != cudaSuccess) fail(cudaGetErrorString(error)); }
template <class T> T* on_device(const T* from, size_t n) {
  T* to;
  sure(cudaMalloc(&to, std::max(n, (size_t)1) * sizeof(T)));
  sure(cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyHostToDevice));
  return to;
}
__global__ void __launch_bounds__(64, 8) play_all(const Setting* settings, const Game* games, const int* edges,
                                                  const float* means, const Play* plays, int n, char* memory,
                                                  float* out) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  Play one = plays[i];
  out[i] = (float)play(settings[one.setting], games[one.game], edges, means, one.noise, memory + one.memory);
}
#endif

static std::vector<float> played(const std::vector<Setting>& settings, const std::vector<Game>& games,
                                 const std::vector<int>& edges, const std::vector<float>& means,
                                 std::vector<Play>& plays) {
  std::vector<float> out(plays.size());
#ifdef __CUDACC__
  Setting* dev_settings = on_device(settings.data(), settings.size());
  Game* dev_games = on_device(games.data(), games.size());
  int* dev_edges = on_device(edges.data(), edges.size());
  float *dev_means = on_device(means.data(), means.size()), *dev_out;
  size_t free, whole, most;
  char* memory;
  sure(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  sure(cudaMemGetInfo(&free, &whole));
  sure(cudaMalloc(&memory, most = free / 10 * 7));
  for (size_t i = 0, end; i < plays.size(); i = end) {  // as many at a time as there is memory for
    size_t used = 0;
    for (end = i; end < plays.size(); end++) {
      size_t more = room(settings[plays[end].setting], games[plays[end].game]);
      if (used + more > most) break;
      plays[end].memory = used;
      used += more;
    }
    int n = (int)(end - i);
    if (!n) fail("a game needs more memory than there is");
    Play* dev_plays = on_device(plays.data() + i, n);
    sure(cudaMalloc(&dev_out, n * sizeof(float)));
    play_all<<<(n + 63) / 64, 64>>>(dev_settings, dev_games, dev_edges, dev_means, dev_plays, n, memory, dev_out);
    sure(cudaGetLastError());
    sure(cudaMemcpy(out.data() + i, dev_out, n * sizeof(float), cudaMemcpyDeviceToHost));
    cudaFree(dev_plays);
    cudaFree(dev_out);
  }
#else
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < plays.size(); i++) {
    const Play& one = plays[i];
    const Setting& setting = settings[one.setting];
    const Game& game = games[one.game];
    std::vector<double> memory(room(setting, game) / sizeof(double));
    out[i] = (float)play(setting, game, edges.data(), means.data(), one.noise, (char*)memory.data());
  }
#endif
  return out;
}

int main(int n_words, char** words) {
  if (n_words != 5) fail("band games.bin settings.bin regrets.bin NOISES");
  FILE* file = open_file(words[1], "rb");
  std::vector<Game> games;
  std::vector<int> edges;
  std::vector<float> means;
  for (int i = take<int>(file, 1)[0]; i > 0; i--) {
    Game game = take<Game>(file, 1)[0];
    auto cut = take<int>(file, game.adaptive ? 0 : game.n_segments + 1);
    auto rows = take<float>(file, game.adaptive ? 0 : (size_t)(game.n_segments + game.drifting) * game.K);
    game.edges = edges.size();
    game.means = means.size();
    edges.insert(edges.end(), cut.begin(), cut.end());
    means.insert(means.end(), rows.begin(), rows.end());
    games.push_back(game);
  }
  fclose(file);
  file = open_file(words[2], "rb");
  auto settings = take<Setting>(file, take<int>(file, 1)[0]);
  fclose(file);

  int noises = atoi(words[4]);
  std::vector<int> order(games.size());  // long games first; neighbouring threads play the same one
  std::iota(order.begin(), order.end(), 0);
  auto cost = [&](int i) { return (double)games[i].T * (60 + games[i].K); };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return cost(a) > cost(b); });
  std::vector<Play> plays;
  for (int i : order)
    for (int s = 0; s < (int)settings.size(); s++)
      for (int k = 0; k < noises; k++) plays.push_back({s, i, k, 0});
  auto found = played(settings, games, edges, means, plays);

  std::vector<float> regrets(plays.size());
  for (size_t i = 0; i < plays.size(); i++)
    regrets[((size_t)plays[i].setting * games.size() + plays[i].game) * noises + plays[i].noise] = found[i];
  file = open_file(words[3], "wb");
  bool whole = fwrite(regrets.data(), sizeof(float), regrets.size(), file) == regrets.size();
  if (fclose(file) || !whole) fail("the results cannot be written");
}
