// The band in one game: what one thread plays. Settings and games are plain numbers, so a GPU plays thousands at once.
//
// The rule is that of docs/learners/turncoat.md, with every constant a knob, and with two shortcuts: means, indices
// and exponentials are single precision, and a detector remembers an arm's samples in buckets of 1, 2, 4, ... (about
// four of each size), so it tests for changes at their edges alone. Arms are looked through one by one: a round costs
// up to O(H K).
#pragma once
#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define EITHER __host__ __device__
#else
#define EITHER
#endif

typedef uint64_t u64;
enum { MOST_MIRRORS = 20, MOST_FOLLOWERS = 6, MOST_LEADERS = 1 + MOST_FOLLOWERS };
enum { MOST_BASES = MOST_MIRRORS + MOST_LEADERS };
enum { LEVELS = 18, BUCKETS = 4 };  // sizes of buckets, and how many of each are kept
const u64 GOLDEN = 0x9E3779B97F4A7C15ULL;

// All fields are doubles, in the order of settings.py.
struct Detector {
  double soft, index, most_log, alarm, power_n, power_N, recalled, doubted, every, least, prior, floor;
};
struct Follower { double window, index, pseudo, prior, floor; };
struct Setting {
  double n_clipped, n_signed, n_followers, eta, most_eta, self_confident, kappa, few, floor, fast, near,
      clipped_span, signed_rate, signed_span, signed_slow, share, clipped_prior, signed_prior;
  Detector detector;
  Follower followers[MOST_FOLLOWERS];
};
struct Game {
  int K, T, n_segments, drifting, adaptive, bernoulli;
  double spread, low, high, best;  // best: the mean loss of the planted path
  u64 seed, edges, means;          // the last two: where they begin among those of all games
};
struct Arm {  // of a detector
  double sum;
  int n, start;
  float recalled, recalled_sum;
  unsigned char sizes[LEVELS];
  float sums[LEVELS][BUCKETS + 1];
};

EITHER inline u64 mix(u64 word) {  // the finaliser of SplitMix64, as in turncoat.random
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
  return word ^ (word >> 31);
}
EITHER inline double unit(u64 word) { return (double)(word >> 11) * (1.0 / 9007199254740992.0); }
EITHER inline double uniform_at(u64 seed, int t, int arm) {
  return unit(mix(mix(seed + t * GOLDEN) + arm * 0xC2B2AE3D27D4EB4FULL));
}
EITHER inline float clip(float x) { return fminf(fmaxf(x, 0.f), 1.f); }

EITHER inline float minus_entropy(float x) { return (x > 0 ? x * logf(x) : 0) + (x < 1 ? (1 - x) * logf(1 - x) : 0); }

// The largest mean m with kl(p, m) <= level: a safeguarded Newton search in m - p.
EITHER inline float kl_upper(float p, float level) {
  if (p >= 1.f || level <= 0.f) return fminf(p, 1.f);
  if (p <= 1e-20f) return -expm1f(-level);
  float room = 1 - p, low = 0, high = fminf(sqrtf(.5f * level), room);
  float d = room - room * expf((p * logf(p) - level) / room);
  if (d >= room) return 1.f;
  if (!(d > 0 && d < high)) d = high;
  for (int i = 0; i < 20; i++) {
    if (d >= room) { high = d; d = .5f * (low + d); }
    float excess = -p * log1pf(d / p) - room * log1pf(-d / room) - level, step = excess * (p + d) * (room - d) / d;
    if (fabsf(step) <= 1e-4f * fminf(d, room - d) + 1e-7f) return fminf(p + (d - step), 1.f);
    if (excess > 0) high = d; else low = d;
    d = d - step > low && d - step < high ? d - step : .5f * (low + high);
  }
  return fminf(p + d, 1.f);
}

EITHER inline void add_sample(Arm& arm, float reward) {
  float carry = reward;
  arm.n++; arm.sum += reward;
  for (int j = 0; j < LEVELS; j++) {
    float* sums = arm.sums[j];
    int n = arm.sizes[j];
    sums[n++] = carry;
    arm.sizes[j] = n;
    if (n <= BUCKETS) return;
    carry = sums[0] + sums[1];
    for (int i = 2; i < n; i++) sums[i - 2] = sums[i];
    arm.sizes[j] = n - 2;
  }
}

// The largest likelihood ratio of a change at the edge of a bucket; how many samples came after it, and their sum.
EITHER inline float evidence(const Arm& arm, float& n_after, float& sum_after) {
  float n = arm.n, total = arm.sum, whole = n * minus_entropy(clip(total / n)), n2 = 0, s2 = 0, best = 0;
  for (int j = 0; j < LEVELS; j++)
    for (int i = arm.sizes[j] - 1; i >= 0; i--) {
      n2 += (float)(1 << j); s2 += arm.sums[j][i];
      float n1 = n - n2;
      if (n1 < .5f) return best;
      float found = n1 * minus_entropy(clip((total - s2) / n1)) + n2 * minus_entropy(clip(s2 / n2)) - whole;
      if (found > best) { best = found; n_after = n2; sum_after = s2; }
    }
  return best;
}

struct Band {
  const Setting& s;
  int K, n_clipped, n_mirrors, n_followers, n_leaders, H, t;
  double *weights, *faded;  // (K, n_mirrors); (n_followers, K, 2): samples and rewards, too large by `growth`
  Arm* arms;                // (K,) of the detector
  float* indices;           // (n_leaders, K)
  double p[MOST_BASES], x[MOST_BASES], floors[MOST_BASES], total[MOST_MIRRORS], offset[MOST_MIRRORS];
  double growth[MOST_FOLLOWERS], n_seen[MOST_FOLLOWERS], rewards_seen[MOST_FOLLOWERS];
  float rate[MOST_MIRRORS], chance[MOST_BASES];
  int leaders[MOST_LEADERS];
  bool held[MOST_BASES];
  double N = 8, eta = 0, beta = 0, share = 0, variance = 0, seen = .5, lately = .5;
  u64 random;

  EITHER static size_t up(size_t n) { return (n + 31) / 32 * 32; }
  EITHER static size_t bytes(int K, const Setting& s) {
    return up(K * (size_t)(s.n_clipped + s.n_signed) * 8) + up(K * (size_t)s.n_followers * 16) + up(K * sizeof(Arm)) +
           up(K * (size_t)(1 + s.n_followers) * 4);
  }

  EITHER Band(const Setting& setting, int arms_, u64 seed, char* memory) : s(setting), K(arms_), random(seed) {
    n_clipped = s.n_clipped; n_mirrors = n_clipped + (int)s.n_signed;
    n_followers = s.n_followers; n_leaders = 1 + n_followers; H = n_mirrors + n_leaders; t = 0;
    weights = (double*)memory; memory += up((size_t)K * n_mirrors * 8);
    faded = (double*)memory; memory += up((size_t)K * n_followers * 16);
    arms = (Arm*)memory; memory += up(K * sizeof(Arm));
    indices = (float*)memory;
    for (int i = 0; i < K * n_mirrors; i++) weights[i] = i % n_mirrors < n_clipped ? 1.0 / K : 0.0;
    for (int i = 0; i < K * n_followers * 2; i++) faded[i] = 0;
    for (int k = 0; k < K; k++) { forget(arms[k], 0, 0, 0); indices[k] = 2.f; }
    for (int i = K; i < K * n_leaders; i++) indices[i] = .5f;
    for (int i = 0; i < n_mirrors; i++) { total[i] = i < n_clipped; offset[i] = i < n_clipped ? 0.0 : 1.0 / K; }
    for (int i = 0; i < n_leaders; i++) leaders[i] = 0;
    for (int i = 0; i < n_followers; i++) { growth[i] = 1; n_seen[i] = rewards_seen[i] = 0; }
    double sum = 0;
    for (int h = 0; h < H; h++) {
      if (h < n_mirrors) p[h] = h < n_clipped ? s.clipped_prior : s.signed_prior;
      else p[h] = h == n_mirrors ? s.detector.prior : follower(h).prior;
      sum += p[h];
    }
    for (int h = 0; h < H; h++) p[h] /= sum;
  }
  EITHER const Follower& follower(int h) const { return s.followers[h - n_mirrors - 1]; }
  EITHER double uniform() { random += GOLDEN; return unit(mix(random)); }
  EITHER double proposed(int h, int k) const {  // P_h(k)
    if (h >= n_mirrors) return leaders[h - n_mirrors] == k;
    return (weights[(size_t)k * n_mirrors + h] + offset[h]) / (total[h] + K * offset[h]);
  }
  EITHER double mixture(int k) const { double q = 0; for (int h = 0; h < H; h++) q += p[h] * proposed(h, k); return q; }

  EITHER void set_rates() {
    double was = eta;
    eta = fmin(s.eta * pow(N, -.5), s.most_eta);
    if (t && was < eta) eta = was;
    beta = 1 / (K * N); share = s.share / N;
    for (int i = 0; i < n_mirrors; i++) {
      int n = i < n_clipped ? n_clipped : n_mirrors - n_clipped;
      double place = n > 1 ? (double)(i < n_clipped ? i : i - n_clipped) / (n - 1) : 0;
      if (i < n_clipped) rate[i] = sqrt(pow(N, s.clipped_span * place) / (K * N));
      else rate[i] = s.signed_rate * sqrt(2 * (pow(N, s.signed_span * place) * log(K * N) + log((double)K)) / (K * N));
    }
    double low = fmin(s.floor / (N * H), .5 / H), sum = 0;
    for (int h = 0; h < H; h++) {
      double own = h < n_mirrors ? 0 : h == n_mirrors ? s.detector.floor : follower(h).floor;
      sum += floors[h] = fmax(low, fmin(own / sqrt(N), .25));
    }
    if (sum > .6) for (int h = 0; h < H; h++) floors[h] *= .6 / sum;
  }

  EITHER int ask(double& q) {
    if (t == 0 || t + 1 > N) { N *= 2; set_rates(); }
    double u = uniform();
    int h = H - 1, arm = K - 1;
    for (int i = 0; i < H; i++) { u -= p[i]; if (u < 0) { h = i; break; } }
    u = uniform();
    if (h >= n_mirrors) arm = leaders[h - n_mirrors];
    else {
      u *= total[h] + K * offset[h];
      for (int k = 0; k < K; k++) {
        u -= weights[(size_t)k * n_mirrors + h] + offset[h];
        if (u < 0) { arm = k; break; }
      }
    }
    q = 0;
    for (int i = 0; i < H; i++) { chance[i] = (float)proposed(i, arm); q += p[i] * chance[i]; }
    return arm;
  }

  EITHER void tell(int arm, double q, double loss) {
    double slow = seen / (1.0 + t), b = lately - fmin(fmax(lately - slow, -s.near), s.near);
    lately += (loss - lately) / fmin(s.fast, t + 2.0);
    seen += loss;
    step_master(arm, q, loss, b);
    charge_mirrors(arm, q, loss, s.signed_slow > 0 ? slow : b);
    detect(arm, (float)(1 - loss));
    for (int i = 0; i < n_followers; i++) follow(i, arm, (float)(1 - loss));
    t++;
  }

  EITHER void step_master(int arm, double q, double loss, double b) {
    double own = 0, least = 1e300;
    bool all = K <= s.few;
    for (int h = 0; h < H; h++) x[h] = 0;
    for (int c = 0; c < (all ? K : n_leaders); c++) {
      int k = all ? c : leaders[c];
      bool again = false;
      if (!all) for (int i = 0; i < c; i++) again |= leaders[i] == k;
      if (again) continue;
      double q_k = k == arm ? q : mixture(k);
      double baseline = s.kappa > 0 ? fmin(b, s.kappa * q_k / eta) : q_k >= eta * b ? b : 0;
      if (k == arm) own = baseline;
      if (baseline > 0) for (int h = 0; h < H; h++) x[h] += baseline * proposed(h, k);
    }
    double mean = 0, square = 0;
    for (int h = 0; h < H; h++) {
      x[h] = eta * (chance[h] * ((loss - own) / q) + x[h]);
      least = fmin(least, x[h]); mean += p[h] * x[h]; square += p[h] * x[h] * x[h];
    }
    variance += fmax(square - mean * mean, 0.0) / (eta * eta);
    for (int h = 0; h < H; h++) { p[h] *= expf((float)(least - x[h])); held[h] = false; }
    project();
    double c = s.self_confident;
    if (c > 0) eta = fmin(eta, c / sqrt(c * c / (s.most_eta * s.most_eta) + variance));
  }

  EITHER void project() {  // in relative entropy, onto what is above the floors
    for (bool more = true; more;) {
      double taken = 0, free = 0;
      for (int h = 0; h < H; h++) if (held[h]) taken += floors[h]; else free += p[h];
      double scale = (1 - taken) / free;
      more = false;
      for (int h = 0; h < H; h++) if (!held[h] && scale * p[h] < floors[h]) more = held[h] = true;
      if (!more) for (int h = 0; h < H; h++) p[h] = held[h] ? floors[h] : scale * p[h];
    }
  }

  EITHER double summed(int i) const {
    double sum = 0;
    for (int k = 0; k < K; k++) sum += weights[(size_t)k * n_mirrors + i];
    return sum;
  }
  EITHER void rescale(int i, double factor) {
    for (int k = 0; k < K; k++) weights[(size_t)k * n_mirrors + i] *= factor;
    total[i] = summed(i); offset[i] *= factor;
  }

  EITHER void charge_mirrors(int arm, double q, double loss, double b) {
    double* w = weights + (size_t)arm * n_mirrors;
    bool tidy = t % 1024 == 1023;  // against rounding
    for (int i = 0; i < n_clipped; i++) {
      double rest = total[i] - w[i];
      w[i] = fmax(w[i] * expf(-rate[i] * (float)(loss / q)), rest * beta / (1 - beta));
      total[i] = rest + w[i];
      if (tidy || total[i] < 1e-5) rescale(i, 1 / summed(i));
    }
    for (int i = n_clipped; i < n_mirrors; i++) {
      double before = w[i] + offset[i], rest = total[i] + K * offset[i] - before;
      double moved = before * expf(fminf(1.f, -rate[i] * (float)((loss - b) / q)));
      if (moved < offset[i]) {  // fold the offset into the weights
        for (int k = 0; k < K; k++) weights[(size_t)k * n_mirrors + i] += offset[i];
        total[i] += K * offset[i]; offset[i] = 0;
      }
      total[i] += moved - offset[i] - w[i]; w[i] = moved - offset[i];
      double sum = rest + moved;
      bool rescaling = tidy || sum < 1e-5 || sum > 1e30;
      if (rescaling) sum = summed(i) + K * offset[i];
      offset[i] += share / (1 - share) * sum / K;
      if (rescaling) rescale(i, 1 / sum);
    }
  }

  EITHER void crown(int i, bool rescan, int lead) {  // i: which leader
    if (rescan) { lead = 0; for (int k = 1; k < K; k++) if (indices[i * K + k] > indices[i * K + lead]) lead = k; }
    leaders[i] = lead;
  }
  EITHER static void forget(Arm& arm, int start, float recalled, float mean) {
    arm.n = 0; arm.sum = 0; arm.start = start; arm.recalled = recalled; arm.recalled_sum = recalled * mean;
    for (int j = 0; j < LEVELS; j++) arm.sizes[j] = 0;
  }

  EITHER void detect(int arm, float reward) {
    const Detector& d = s.detector;
    Arm& told = arms[arm];
    add_sample(told, reward);
    int lead = leaders[0], turn = t % K;
    float was = indices[lead], n_after = 1, sum_after = 0;
    for (int z = 0; z < (turn == arm ? 1 : 2); z++) {
      int k = z ? turn : arm;
      const Arm& one = arms[k];
      float n = one.n + one.recalled, log_t = fminf(logf(fmaxf(t + 1.f - one.start, 2.f)), (float)d.most_log);
      if (n > 0) indices[k] = kl_upper(fminf((float)(one.sum + one.recalled_sum) / n, 1.f), (float)d.index * log_t / n);
      if (indices[k] > indices[lead]) lead = k;
    }
    bool rescan = indices[leaders[0]] < was;
    double threshold = logf(d.alarm) + d.power_n * logf((float)told.n) + d.power_N * logf((float)N);
    bool testing = told.n >= d.least && told.n % (int)d.every == 0;
    if (testing && evidence(told, n_after, sum_after) > threshold) {
      start_again(arm, sum_after / n_after, (float)(told.sum - sum_after) / (told.n - n_after));
      rescan = true;
    }
    crown(0, rescan, lead);
  }

  EITHER void start_again(int arm, float after, float before) {
    const Detector& d = s.detector;
    for (int i = 0; i <= K; i++) {
      int k = i < K ? i : arm;  // the arm itself comes last
      if (i == arm && i < K) continue;
      float n = arms[k].n + arms[k].recalled, mean = 0, recalled = 0, u = (float)uniform();
      if (d.soft > 0 && k != arm && n > 0) {
        mean = clip((float)(arms[k].sum + arms[k].recalled_sum) / n + (after - before));
        mean = (1 - (float)d.doubted) * mean + (float)d.doubted * after;
        recalled = fminf((float)d.recalled, n);
      }
      forget(arms[k], t + 1, recalled, mean);
      indices[k] = recalled > 0 ? kl_upper(fminf(mean, 1.f), (float)d.index * logf(2.f) / recalled) : 2.f + u;
    }
  }

  EITHER void follow(int f, int arm, float reward) {
    const Follower& c = s.followers[f];
    double *sums = faded + (size_t)f * K * 2, kept = 1 - 1 / c.window;
    float *index = indices + (size_t)(1 + f) * K;
    n_seen[f] = n_seen[f] * kept + 1; rewards_seen[f] = rewards_seen[f] * kept + reward; growth[f] /= kept;
    if (growth[f] > 1e60) { for (int i = 0; i < 2 * K; i++) sums[i] *= 1 / growth[f]; growth[f] = 1; }
    sums[2 * arm] += growth[f]; sums[2 * arm + 1] += reward * growth[f];
    double shrink = 1 / growth[f];
    float common = rewards_seen[f] / n_seen[f], m = c.pseudo;
    float level = (float)c.index * logf(fmaxf((float)n_seen[f], 1.f));
    int first = leaders[1 + f], lead = first;
    float was = index[first];
    for (int z = 0; z < 3; z++) {
      int k = z == 0 ? arm : z == 1 ? t % K : first;
      float n = sums[2 * k] * shrink + m;
      index[k] = (float)(sums[2 * k + 1] * shrink + m * common) / n + sqrtf(level / n);
      if (index[k] > index[lead]) lead = k;
    }
    crown(1 + f, index[first] < was, lead);
  }
};

// The regret of one game, in mean losses against the planted path; of the adaptive one, in losses against the best arm.
EITHER inline double play(const Setting& setting, const Game& game, const int* all_edges, const float* all_means,
                          int noise, char* memory) {
  const int K = game.K, *edges = all_edges + game.edges;
  const float* means = all_means + game.means;
  int* counts = (int*)(memory + Band::bytes(K, setting));  // (2, K): how often arms were played, and their losses
  for (int k = 0; k < 2 * K; k++) counts[k] = 0;
  u64 seed = noise ? mix(game.seed + 0x1234567ULL * noise) : game.seed;  // noise 0: the losses of the package's game
  Band band(setting, K, mix(seed ^ 0xABCDEF987ULL) + noise, memory);
  double q, mean_losses = 0, losses = 0;
  for (int t = 0, segment = 0, most = -1; t < game.T; t++) {
    int arm = band.ask(q);
    double mean, loss, u = uniform_at(seed, t, arm);
    if (game.adaptive) {
      for (int k = 0; k < K; k++) counts[K + k] += uniform_at(seed, t, k) < (k == most ? game.high : game.low);
      mean = arm == most ? game.high : game.low;
      counts[arm]++;
      if (most < 0 || counts[arm] > counts[most]) most = arm;
    } else {
      while (t >= edges[segment + 1]) segment++;
      const float* row = means + (size_t)segment * K;
      mean = row[arm];
      int begin = edges[segment], end = edges[segment + 1];
      if (game.drifting) mean += (row[K + arm] - mean) * ((double)(t - begin) / (end - begin));
    }
    loss = game.bernoulli ? (u < mean ? 1.0 : 0.0) : mean + (2 * u - 1) * fmin(game.spread, fmin(mean, 1 - mean));
    mean_losses += mean; losses += loss;
    band.tell(arm, q, loss);
  }
  if (!game.adaptive) return mean_losses - game.best;
  int best = counts[K];
  for (int k = 1; k < K; k++) best = counts[K + k] < best ? counts[K + k] : best;
  return losses - best;
}
